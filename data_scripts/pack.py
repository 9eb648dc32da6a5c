"""Pack files into src/fairlab/data/files, which is part of fairlab: python data_scripts/pack.py PATH ...

PATH is a file of the registry whose terms allow passing it on; its licence and attribution are to be added to
LICENCES.md there. Prices by zip code (fairtest/staples/zip_prices.csv) are made by make_zip_prices.py.
"""

import lzma
import sys

from fairlab.data import DataError
from fairlab.data.files import BOX, fetch_file
from fairlab.data.registry import project_registry


def pack(path: str) -> None:
    """Fetch a file and pack it; raise an error if its terms do not allow passing it on."""
    file = project_registry().file(path)
    if file.redistribution != "ok":
        raise DataError(f"{path}: expected terms that allow passing it on, found {file.redistribution}: {file.terms}")
    write(path, fetch_file(file).read_bytes())


def write(path: str, content: bytes) -> None:
    """Write the packed content of a file."""
    place = BOX / f"{path}.xz"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    for each in sys.argv[1:]:
        pack(each)

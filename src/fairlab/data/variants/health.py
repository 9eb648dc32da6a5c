"""Health: attributes of a year's insurance claims, predicted and true days in hospital of the next year.

The datasheet is at the head of ``data_scripts/make_health.py``. Its option: the contest's files as they come.
"""

from pathlib import Path

import pooch

from fairlab.data.dataset import Dataset
from fairlab.data.errors import DataError
from fairlab.data.registry import project_registry
from fairlab.data.sources import load_variant, of_files
from fairlab.data.tables import check_table, digest, load_script
from fairlab.paths import project


def load(*, folder: Path | str | None = None, surrogate: bool | None = None) -> Dataset:
    """Load `health`.

    Parameters
    ----------
    folder : path or None
        With the contest's files (release 3) as they come: Members.csv, Claims.csv, DrugCount.csv, LabCount.csv,
        DaysInHospital_Y2.csv and DaysInHospital_Y3.csv. The attributes are computed and the predictor is trained, which
        takes minutes; their number, types and ranges are checked.
    surrogate : bool or None
        Without a folder; see, also for further errors, `fairlab.data.sources.load_variant`.

    Raises
    ------
    DataError
        If the folder or a file in it is missing, or not what is expected.
    """
    variant = project_registry().variant("health")
    if folder is None:
        return load_variant(variant, surrogate=surrogate)
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"health: folder {folder} does not exist")
    script = project().data_scripts / variant.make
    make = load_script(script)
    table = make.make_from_folder(folder)
    check_table(table, variant)
    files = {name: pooch.file_hash(str(folder / name)) for name in make.FILES}
    data_hash = digest(variant=variant.name, raw=files, make=pooch.file_hash(str(script)))
    return of_files(variant, table, files, data_hash)

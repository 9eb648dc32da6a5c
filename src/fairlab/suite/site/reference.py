"""The packages and modules of the library that state public names, for the reference."""

import re
from pathlib import Path

SOURCE = Path(__file__).parents[3]
FIRST = ("fairlab", "fairlab.auditing", "fairlab.auditing.probes", "fairlab.cases")  # what a reader needs first


def _public_packages() -> list[str]:
    states_names = re.compile(r"^(__getattr__, __dir__, )?__all__ =", re.MULTILINE)
    files = [path for path in SOURCE.glob("fairlab/**/*.py") if states_names.search(path.read_text(encoding="utf-8"))]
    found = [".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__") for path in files]
    return [*FIRST, *sorted(set(found) - set(FIRST))]


PACKAGES = _public_packages()

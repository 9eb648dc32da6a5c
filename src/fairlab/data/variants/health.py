"""Health: attributes of a year's insurance claims, predicted and true days in hospital of the next year.

The datasheet is at the head of ``data_scripts/make_health.py``. The target is the true number of days. FairTest takes
the logarithm log(1 + days) of prediction and truth. Its protected attribute is Age, a number and therefore not listed
as sensitive.

The contest's files cannot be passed on with this project, so nearly everybody works with the surrogate: generated
patients, see `fairlab.data.surrogates.patients`, fitted to a sample of 1,000 by ``data_scripts/fit_health_surrogate.py``.

What the surrogate gets right: names, types, codes and number of the attributes; their distributions by gender as far as
1,000 patients show them; roughly, how they go together, and with the risk of a stay in hospital.

What it does not:

- Sums and bounds: claims by place need not add up to the number of claims, nor averages lie between the bounds.
- Conditions that fewer than ten of the 1,000 have do not occur.
- The length of a stay depends on nothing, and the prediction is right on average by construction: there is no error
  that the predictor makes for one group of equal risk more than for another. Errors grow with age since risk does,
  but less than in the study, and not more among patients of urgent care.
- Confidence is the prediction with noise, in a strength that is a guess.
"""

from pathlib import Path

import pooch

from fairlab.data.dataset import Dataset, Provenance
from fairlab.data.errors import DataError
from fairlab.data.loading import load_variant
from fairlab.data.registry import project_registry
from fairlab.data.tables import as_dataset, check_table, digest, load_script
from fairlab.paths import DATA_SCRIPTS


def load(*, folder: Path | str | None = None, surrogate: bool | None = None) -> Dataset:
    """Load `health`.

    Parameters
    ----------
    folder : path or None
        With the contest's files (release 3) as they come: Members.csv, Claims.csv, DrugCount.csv, LabCount.csv,
        DaysInHospital_Y2.csv and DaysInHospital_Y3.csv. The attributes are computed and the predictor is trained, which
        takes minutes; their number, types and ranges are checked.
    surrogate : bool or None
        Without a folder; see, also for further errors, `fairlab.data.loading.load_variant`.

    Raises
    ------
    DataError
        If the folder or a file in it is missing, or not what is expected.
    """
    if folder is None:
        return load_variant("health", surrogate=surrogate)
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"health: folder {folder} does not exist")
    variant = project_registry().variant("health")
    script = DATA_SCRIPTS / variant.make
    make = load_script(script)
    table = make.make_from_folder(folder)
    check_table(table, variant)
    files = {name: pooch.file_hash(str(folder / name)) for name in make.FILES}
    provenance = Provenance(
        variant=variant.name,
        source="real",
        data_hash=digest(variant=variant.name, raw=files, make=pooch.file_hash(str(script))),
        rows=len(table),
        files=files,
        citation=variant.citation,
        note=variant.description,
    )
    return as_dataset(table, variant, provenance)

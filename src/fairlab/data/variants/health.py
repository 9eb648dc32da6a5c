"""Health: attributes of a year's insurance claims, predicted and true days in hospital of the next year.

The datasheet is at the head of ``data_scripts/make_health.py``. Its option: the order of the rows.
"""

from fairlab.checks import COUNT_OR_ZERO, checked
from fairlab.data.dataset import Dataset
from fairlab.data.registry import project_registry
from fairlab.data.sources import derive, load_variant


@checked(order=COUNT_OR_ZERO)
def load(*, order: int = 0, surrogate: bool | None = None) -> Dataset:
    """Load `health`.

    Parameters
    ----------
    order : int
        Seed of the random order of the rows. The order determines every split and the rows on which the predictor is
        trained, which takes a minute once for each order. For a surrogate, only the rows are reordered.
    surrogate : bool or None
        See `fairlab.data.sources.load_variant`, also for further errors.

    Raises
    ------
    ValueError
        If the order is negative or no integer.
    """
    dataset = load_variant(project_registry().variant("health"), surrogate=surrogate, order=order)
    if not order or dataset.provenance.source != "surrogate":
        return dataset
    parts = {
        name: getattr(dataset, name).sample(frac=1, random_state=order, ignore_index=True)
        for name in ("features", "target", "sensitive_features")
    }
    return derive(dataset, options={"order": order}, **parts)

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
        Which order the rows have, drawn at random from this seed. It decides whom the predictor is trained on, which
        takes a minute for each order, once, and every split. Of a surrogate, only the order of the rows.
    surrogate : bool or None
        See, also for further errors, `fairlab.data.sources.load_variant`.

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

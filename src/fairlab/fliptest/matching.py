"""Real people for counterparts: who of one group goes to whom of the other, on columns of any kind."""

import pandas as pd
from sklearn.metrics import pairwise_distances_argmin

from fairlab.cases import Encoding
from fairlab.transport import ColumnCosts, ExactTransport, GANTransport
from fairlab.transport.columns import check_mixed
from fairlab.transport.cost import cost_matrix

METHODS = ("exact", "gan")


def match(
    X_source: pd.DataFrame,
    X_target: pd.DataFrame,
    *,
    method: str = "exact",
    cost: ColumnCosts | None = None,
    random_state: int = 0,
    **options,
) -> pd.DataFrame:
    """Return a counterpart among the real people of the target group for everyone of the source group.

    Parameters
    ----------
    X_source, X_target : DataFrame of shape (n_source, n_features) and (n_target, n_features)
        Numbers in any unit, text, categories, booleans; values may be missing.
    method : {"exact", "gan"}
        The exact plan (FlipTest, section 3.1); or the person who is nearest to where the paper's Wasserstein GAN
        sends somebody, for groups that are too large for a plan. The GAN works on standardised numbers and a column
        of 0 and 1 per category, and needs the extra ``networks``.
    cost : ColumnCosts, optional
        By column; of the exact plan. Default: scaled differences of numbers, 0 or 1 for categories.
    random_state : int
        Of the GAN.
    **options
        Others of `fairlab.transport.ExactTransport` or `fairlab.transport.GANTransport`.

    Returns
    -------
    DataFrame
        One row per pair: ``source`` and ``target``, row labels; ``share`` of the source row that goes there, below 1
        where an exact plan between groups of different sizes splits people; ``cost`` of the pair.

    Raises
    ------
    ValueError
        If the method is unknown, or the tables are not what is expected.

    Examples
    --------
    >>> from fairlab.fliptest import match
    >>> women = pd.DataFrame({"age": [30, 50], "job": ["cook", "clerk"]}, index=["Ada", "Bea"])
    >>> men = pd.DataFrame({"age": [52, 31], "job": ["clerk", "cook"]}, index=["Cem", "Dan"])
    >>> match(women, men)[["source", "target"]].to_numpy().tolist()
    [['Ada', 'Dan'], ['Bea', 'Cem']]
    """
    if method not in METHODS:
        raise ValueError(f"method: unknown {method!r}, expected one of {', '.join(METHODS)}")
    for name, X in (("X_source", X_source), ("X_target", X_target)):
        if not isinstance(X, pd.DataFrame):
            raise ValueError(f"{name}: expected a DataFrame, found {type(X).__name__}")
    check_mixed(X_source, X_target)
    if method == "exact":
        transport = ExactTransport(cost=cost, random_state=random_state, **options).fit(X_source, X_target)
        return transport.match()[["source", "target", "share", "cost"]]
    encoding = Encoding(pd.concat([X_source, X_target], ignore_index=True))
    source, target = (encoding.transform(X) for X in (X_source, X_target))
    image = GANTransport(random_state=random_state, **options).fit(source, target).transform(source)
    nearest = pairwise_distances_argmin(image, target, metric="manhattan")
    paid = cost_matrix(cost or ColumnCosts(), X_source, X_target)[range(len(nearest)), nearest]
    pairs = {"source": X_source.index, "target": X_target.index.take(nearest), "share": 1.0, "cost": paid}
    return pd.DataFrame(pairs)

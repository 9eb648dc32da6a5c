"""Columns that stand for a sensitive one that the model does not get."""

import pandas as pd
from sklearn.metrics import adjusted_mutual_info_score

from fairlab.cases.case import Case

LEAST = 0.05  # adjusted mutual information, of which chance explains none
MOST = 2  # proxies of one column
PEOPLE = 5_000  # that associations are measured on


def strengths_of_proxies(case: Case, name: str, *, random_state: int = 0) -> pd.Series:
    """Return how much each feature tells about a sensitive column: adjusted mutual information, largest first.

    It is 0 where chance explains all, and 1 where one column says the other. Wide numbers are taken by their bins.

    Parameters
    ----------
    case : Case
    name : str
        Sensitive column.
    random_state : int
        Of the people looked at, if there are more than `PEOPLE`.

    Examples
    --------
    >>> import fairlab
    >>> from fairlab.themis import strengths_of_proxies
    >>> people = pd.DataFrame(
    ...     {"sex": ["f", "m"] * 200, "hair": ["long", "short"] * 200, "points": np.arange(400) // 40}
    ... )
    >>> case = fairlab.Case(
    ...     lambda rows: rows["points"] > 4, people, sensitive="sex", features=["hair", "points"]
    ... )
    >>> strengths_of_proxies(case, "sex").abs().round(2).to_dict()
    {'hair': 1.0, 'points': 0.01}
    """
    if not isinstance(case, Case):
        raise TypeError(f"case: expected a Case, found {type(case).__name__}")
    people = case.table.reset_index(drop=True)
    chosen = people.index if len(people) <= PEOPLE else people.sample(PEOPLE, random_state=random_state).index
    groups = case.groups(name).cat.codes.to_numpy()[chosen]
    codes = pd.DataFrame(case.schema.encode(people.loc[chosen, list(case.features)]), columns=list(case.features))
    candidates = codes.drop(columns=[column for column in case.sensitive if column in codes])
    found = {column: adjusted_mutual_info_score(groups, candidates[column]) for column in candidates}
    return pd.Series(found, dtype=float, name=f"tells about {name}").sort_values(ascending=False, kind="stable")


def proxies_of(case: Case, name: str, *, random_state: int = 0) -> tuple[str, ...]:
    """Return the features that tell most about a sensitive column, at most `MOST`; none if all tell next to nothing.

    Examples
    --------
    >>> import fairlab
    >>> from fairlab.themis import proxies_of
    >>> people = pd.DataFrame(
    ...     {"sex": ["f", "m"] * 200, "hair": ["long", "short"] * 200, "points": np.arange(400) // 40}
    ... )
    >>> case = fairlab.Case(
    ...     lambda rows: rows["points"] > 4, people, sensitive="sex", features=["hair", "points"]
    ... )
    >>> proxies_of(case, "sex")
    ('hair',)
    """
    strengths = strengths_of_proxies(case, name, random_state=random_state)
    return tuple(strengths.index[strengths >= LEAST][:MOST])

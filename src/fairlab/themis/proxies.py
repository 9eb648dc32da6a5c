"""Proxies: features that tell about a sensitive column, and can be varied in its place."""

from collections.abc import Mapping

import pandas as pd
from sklearn.metrics import adjusted_mutual_info_score

from fairlab.cases.case import Case
from fairlab.checks import check_names

LEAST_INFORMATION = 0.05  # adjusted mutual information, of which chance explains none
MOST_PROXIES = 2  # of one column
MOST_PEOPLE = 5_000  # that associations are measured on


def proxies_of(case: Case, name: str, *, random_state: int = 0) -> tuple[str, ...]:
    """Return the features that tell most about a sensitive column, at most `MOST_PROXIES`; none if none tells much.

    Measured by adjusted mutual information: 0 where chance explains all, 1 where one column says the other. Wide
    numbers are taken by their bins.

    Parameters
    ----------
    case : Case
    name : str
        Sensitive column.
    random_state : int
        Of the people looked at, if there are more than `MOST_PEOPLE`.
    """
    people = case.table.reset_index(drop=True)
    chosen = people.index if len(people) <= MOST_PEOPLE else people.sample(MOST_PEOPLE, random_state=random_state).index
    groups = case.groups(name).cat.codes.to_numpy()[chosen]
    codes = case.schema.encode(people.loc[chosen, list(case.features)])
    candidates = [k for k, feature in enumerate(case.features) if feature not in case.sensitive_features]
    told = {case.features[k]: adjusted_mutual_info_score(groups, codes[:, k]) for k in candidates}
    strengths = pd.Series(told, dtype=float).sort_values(ascending=False, kind="stable")
    return tuple(strengths.index[strengths >= LEAST_INFORMATION][:MOST_PROXIES])


def check_proxies(case: Case, proxies) -> dict[str, tuple[str, ...]]:
    """Return the features that stand for sensitive columns, by column, as they were given; none of a truth value.

    Parameters
    ----------
    case : Case
    proxies : mapping of str to str or iterable of str, or bool
    """
    if isinstance(proxies, bool):
        return {}
    if not isinstance(proxies, Mapping):
        raise ValueError(f"proxies: expected features by sensitive column, or True, found {proxies!r}")
    found = {}
    for name in check_names(proxies, "proxies", case.sensitive_features, what="sensitive column"):
        others = [feature for feature in case.features if feature != name]
        found[name] = tuple(check_names(proxies[name], f"proxies[{name!r}]", others, what="other feature of the model"))
        if not found[name]:
            raise ValueError(f"proxies[{name!r}]: expected at least one feature, found none")
    return found

"""Proxies: features that predict a sensitive column and can be varied in its place."""

from collections.abc import Mapping

import pandas as pd
from sklearn.metrics import adjusted_mutual_info_score

from fairlab.cases.case import Case
from fairlab.checks import check_names

LEAST_INFORMATION = 0.05  # adjusted mutual information, which is 0 by chance
MOST_PROXIES = 2  # of one column
MOST_PEOPLE = 5_000  # on whom associations are measured


def proxies_of(case: Case, name: str, *, random_state: int = 0) -> tuple[str, ...]:
    """Return the features that predict a sensitive column best, at most `MOST_PROXIES`; none if none predicts it well.

    Measured by adjusted mutual information: 0 for an association by chance, 1 if each column determines the other. Wide
    numbers are binned.

    Parameters
    ----------
    case : Case
    name : str
        Sensitive column.
    random_state : int
        Seed of the sample of people, if there are more than `MOST_PEOPLE`.
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
    """Return the given proxies by sensitive column; none if `proxies` is a boolean.

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

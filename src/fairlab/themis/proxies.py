"""Proxies: features that tell about a sensitive column, and can be varied in its place."""

from collections.abc import Mapping

import pandas as pd
from sklearn.metrics import adjusted_mutual_info_score

from fairlab.cases.case import Case

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
    found = {name: (names,) if isinstance(names, str) else tuple(names) for name, names in proxies.items()}
    for name, names in found.items():
        if name not in case.sensitive_features:
            raise ValueError(
                f"proxies: expected sensitive columns, {', '.join(case.sensitive_features)}, found {name!r}"
            )
        for feature in names:
            if feature not in case.features or feature == name:
                raise ValueError(f"proxies: expected other features of the model, found {feature!r} for {name}")
        if not names or len(set(names)) < len(names):
            raise ValueError(f"proxies: expected features, each once, for {name}, found {list(names)}")
    return found

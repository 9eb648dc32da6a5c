"""The effect among everyone, from running counts: how often each group gets each output, with confidence sequences."""

from collections.abc import Iterator

import numpy as np

from fairlab.monitoring.registration import Registration
from fairlab.monitoring.sequences import difference_sequence


def indicators(registration: Registration, content: np.ndarray, true=None) -> dict[str, np.ndarray]:
    """Return what rates are counted of, from 0 to 1: each label or category, a bounded number, or the error."""
    outputs = registration.outputs
    if registration.true_label:
        (name,) = outputs
        column = registration.columns[name]
        if column.type != "number":
            return {f"error of {name}": (content[name] != (np.nan if true is None else true)).astype(float)}
        if not column.is_bounded:
            return {}
        return {f"error of {name}": np.abs(content[name] - true) / (column.high - column.low)}
    found = {}
    for name in outputs:
        column = registration.columns[name]
        if column.type == "number":
            if column.is_bounded:
                found[name] = (content[name] - column.low) / (column.high - column.low)
        elif len(column.labels) == 2:
            found[f"{name}: {column.labels[1]}"] = content[name] == 1
        else:
            found |= {f"{name}: {label}": content[name] == code for code, label in enumerate(column.labels)}
    return found


def add_counts(counts: dict, registration: Registration, content: np.ndarray, hits: dict[str, np.ndarray]) -> dict:
    """Return running counts with some rows more: of each sensitive feature's groups the people, then the sums of hits.

    People whose group is missing are not counted.
    """
    counts = dict(counts)
    for name in registration.sensitive_features if hits else ():
        column = registration.columns[name]
        if column.type == "number":
            continue
        n_groups, groups = len(column.labels), content[name] + 1
        sums = [np.bincount(groups, weights, n_groups + 1)[1:] for weights in (None, *hits.values())]
        now = np.stack(sums, axis=1)
        counts[name] = (now + np.array(counts[name]) if name in counts else now).tolist()
    return counts


def over_time(registration: Registration, moments: list[tuple[int, dict]]) -> list[dict]:
    """Return the effect of each output and group at some moments, given by their running counts.

    All confidence sequences hold together with the registration's confidence level. Points at which a side has fewer
    people than the smallest cell have no values.
    """
    series = list(_series(registration, moments))
    confidence_level = 1 - (1 - registration.confidence_level) / max(len(series), 1)
    return [_with_bounds(one, sides, confidence_level, registration.smallest_cell) for one, sides in series]


def _series(registration, moments) -> Iterator[tuple[dict, np.ndarray]]:
    """Yield what is compared and its counts: array of moments, two sides, people and hits."""
    names = list(indicators(registration, np.zeros(0, registration.dtype), np.zeros(0)))
    for feature in registration.sensitive_features if names else ():
        labels = registration.columns[feature].labels
        if labels is None or registration.columns[feature].type == "number":
            continue
        shape = (len(labels), 1 + len(names))
        counts = np.array([moment.get(feature, np.zeros(shape)) for _, moment in moments]).reshape(-1, *shape)
        for code, group in enumerate(labels[:1] if len(labels) == 2 else labels):
            rest = counts.sum(axis=1) - counts[:, code]
            sides = np.stack([counts[:, code], rest], axis=1)
            against = labels[1] if len(labels) == 2 else "all others"
            for place, name in enumerate(names, start=1):
                about = {"sensitive_feature": feature, "output": name, "group": group, "against": against}
                about["times"] = [time for time, _ in moments]
                yield about, sides[:, :, [0, place]]


def _with_bounds(about, sides, confidence_level, smallest_cell) -> dict:
    totals, hits = sides[..., 0], np.minimum(sides[..., 1], sides[..., 0])
    shown = (totals >= smallest_cell).all(axis=1)
    low, high = difference_sequence(hits[shown], totals[shown], confidence_level=confidence_level)
    estimate = np.diff(-hits[shown] / totals[shown], axis=1)[:, 0]
    values = iter(zip(totals[shown].astype(int).tolist(), *map(np.ndarray.tolist, (estimate, low, high)), strict=True))
    points = []
    for time, is_shown in zip(about.pop("times"), shown, strict=True):
        point = dict(zip(("n", "estimate", "low", "high"), next(values) if is_shown else (None,) * 4, strict=True))
        points.append({"time": time} | point)
    return about | {"confidence_level": confidence_level, "points": points}

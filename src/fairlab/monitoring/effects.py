"""The effect among everyone, from running counts: how often each group gets each output, with confidence sequences."""

from collections.abc import Iterator

import numpy as np

from fairlab.monitoring.logs import iso
from fairlab.monitoring.registration import Registration
from fairlab.monitoring.sequences import group_sequences
from fairlab.statistics import bonferroni_level


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
    names = list(indicators(registration, np.zeros(0, registration.dtype), np.zeros(0)))
    types = {name: registration.columns[name] for name in registration.sensitive_features}
    groups = {name: column.labels for name, column in types.items() if column.type != "number" and names}
    level = bonferroni_level(registration.confidence_level, max(len(groups), 1))
    found = []
    for feature, labels in groups.items():
        shape = (len(labels), 1 + len(names))
        counts = np.array([moment.get(feature, np.zeros(shape)) for _, moment in moments]).reshape(-1, *shape)
        totals, hits = np.broadcast_arrays(counts[..., :1], counts[..., 1:])
        totals, hits = (np.moveaxis(each, 1, 2) for each in (totals, np.minimum(hits, totals)))
        low, high = group_sequences(hits, totals, confidence_level=level)
        for place, name in enumerate(names):
            for code, group in enumerate(labels[:1] if len(labels) == 2 else labels):
                about = {"sensitive_feature": feature, "output": name, "group": group}
                about["against"] = labels[1] if len(labels) == 2 else "all others"
                here = (totals[:, place], hits[:, place], low[:, place, code], high[:, place, code])
                points = _points(registration, name, code, *here)
                timed = [point | {"time": iso(time)} for point, (time, _) in zip(points, moments, strict=True)]
                found.append(about | {"points": timed})
    return found


def _points(registration, name, code, totals, hits, low, high) -> Iterator[dict]:
    """Yield people on both sides, difference and bounds at each moment, in the output's own units."""
    column = registration.columns.get(name.removeprefix("error of "))
    unit = column.high - column.low if column and column.is_bounded else 1.0
    for total, hit, *bounds in zip(totals, hits, low, high, strict=True):
        n = [int(total[code]), int(total.sum() - total[code])]
        if min(n) < registration.smallest_cell:
            yield dict.fromkeys(("n", "estimate", "low", "high"))
            continue
        estimate = hit[code] / n[0] - (hit.sum() - hit[code]) / n[1]
        estimate, low_end, high_end = (float(value) * unit for value in (estimate, *bounds))
        yield {"n": n, "estimate": estimate, "low": low_end, "high": high_end}

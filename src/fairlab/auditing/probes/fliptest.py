"""FlipTest of a case: how selection rates differ between groups, and whose decision flips with the group."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import fisher_exact

from fairlab.auditing.probes import Probe, Task
from fairlab.auditing.wording import few
from fairlab.cases import Finding
from fairlab.fliptest.counterparts import FEWEST, CounterpartTest, counterpart_test
from fairlab.fliptest.transparency import differences_in_words
from fairlab.statistics import difference_bounds

METHOD = "FlipTest"
# Groups of one sensitive column that are looked at, the largest first.
MOST_GROUPS = 10
# People with their counterparts in the evidence of one finding.
MOST_SHOWN = 20


def run(task: Task) -> Iterator[Finding]:
    """Compare the groups of every sensitive column: their selection rates, and people with their counterparts.

    Of a column with two groups the first is compared with the second, in the order of its categories; of one with more,
    each with everyone else. Two findings come of each comparison:

    - The **selection rate difference** between the people that both groups are samples of: the net flips of
      FlipTest (proposition 2), whatever the map. Its interval is put together from exact ones of both rates; its
      p-value is that of Fisher's exact test.
    - The **excess decision flips in matched pairs**: the share of people who are decided otherwise than their
      counterpart in the other group, minus the share whose two counterparts are decided differently; see
      `fairlab.fliptest.counterpart_test`. It sees what the first cannot: flips in both directions that cancel. Below 0
      it says that chance explains all flips. Its p-value is one-sided.
      Counterparts are real people, found by exact transport on all features but the sensitive one. Nothing can be said
      of a model that gives two answers to one query.

    The evidence of a finding is people of the table, by their row labels: in ``match`` number k a ``person`` and
    two counterparts who were decided otherwise (``role``), with the decisions (``favourable``).
    ``evidence.attrs["in_words"]`` says in which columns they differ most.
    """
    case, favourable, matches = task.case, task.case.decide(), not task.lacks("determinism", "Flips")
    for pair in (pair for name in case.sensitive_features for pair in _pairs(task, name)):
        matched = _matched(task, pair, favourable) if matches else None
        yield _difference(case, pair, favourable, matched, task.confidence_level)
        if matched is not None:
            yield _flips(case, pair, matched)


PROBE = Probe(
    title="FlipTest",
    description="FlipTest compares selection rates, and the decisions on people with those on two counterparts in the "
    "other group, who are real people found by exact optimal transport, less the flips that chance explains; the paper "
    "counts flips under a map that a generative network approximates.",
    run=run,
    order=1,
    share=1,
    needs=("decisions",),
)


@dataclass(frozen=True)
class _Pair:
    """Two groups of one sensitive column: their names, and masks of their people."""

    sensitive_features: str
    names: tuple[str, str]
    members: tuple[np.ndarray, np.ndarray]


def _pairs(task, sensitive_features):
    """Yield the groups to compare."""
    groups = task.case.groups(sensitive_features)
    sizes = groups.value_counts()
    large = task.large_groups(sensitive_features, groups, FEWEST)
    if len(large) > MOST_GROUPS:
        kept = set(sizes.index[:MOST_GROUPS])
        left_out = [str(group) for group in large if group not in kept]
        task.skip(f"{sensitive_features}: only its {MOST_GROUPS} largest groups, not {few(left_out)}.")
        large = [group for group in large if group in kept]
    if (sizes > 0).sum() == 2 and len(large) == 2:
        yield _Pair(sensitive_features, tuple(map(str, large)), tuple((groups == group).to_numpy() for group in large))
        return
    for group in large:
        members = (groups == group).to_numpy()
        if (~members).sum() >= FEWEST:
            yield _Pair(sensitive_features, (str(group), "everyone else"), (members, ~members))


def _matched(task, pair, favourable) -> CounterpartTest | None:
    """Match both groups on all features but the sensitive one; None if there is no other."""
    columns = [name for name in task.case.features if name != pair.sensitive_features]
    if not columns:
        task.skip(f"Flips by {pair.sensitive_features}: the model gets no other feature to match people on.")
        return None
    # By position: labels may occur twice.
    tables = [task.case.table.loc[members, columns].set_axis(np.flatnonzero(members)) for members in pair.members]
    decisions = [favourable[members] for members in pair.members]
    options = {"confidence_level": task.confidence_level, "random_state": task.random_state}
    return counterpart_test(tuple(tables), tuple(decisions), **options)


def _difference(case, pair, favourable, matched, confidence):
    """Return the selection rate difference; as evidence, flips in its direction."""
    counts = [int(favourable[members].sum()) for members in pair.members]
    sizes = [int(members.sum()) for members in pair.members]
    estimate = counts[0] / sizes[0] - counts[1] / sizes[1]
    low, high = map(float, difference_bounds(counts, sizes, confidence_level=confidence))
    table = [[count, size - count] for count, size in zip(counts, sizes, strict=True)]
    odd = None if matched is None else matched.odd
    if odd is not None:
        # The group is advantaged when its people are favoured and their counterparts are not.
        first_is_favoured = odd["favourable"] == (odd["group"] == 0)
        odd = odd[first_is_favoured if estimate > 0 else ~first_is_favoured]
    return Finding(
        METHOD,
        pair.sensitive_features,
        "everyone",
        f"selection rate difference, {pair.names[0]} minus {pair.names[1]}",
        estimate,
        low,
        high,
        min(float(fisher_exact(table).pvalue), 1.0),
        _evidence(case, odd, pair),
        sum(sizes),
        f"The selection rate of {pair.names[0]} is {100 * abs(estimate):.1f} percentage points "
        f"{'lower' if estimate < 0 else 'higher'} than that of {pair.names[1]}",
    )


def _flips(case, pair, matched):
    """Return the excess of decision flips in matched pairs."""
    side = "lower" if matched.estimate < 0 else "higher"
    return Finding(
        METHOD,
        pair.sensitive_features,
        "everyone",
        f"excess decision flips in matched pairs, {pair.names[0]} and {pair.names[1]}",
        matched.estimate,
        matched.low,
        matched.high,
        matched.p_value,
        _evidence(case, matched.odd, pair),
        3 * len(matched.triples),
        f"The share of decision flips between matched people of {pair.names[0]} and {pair.names[1]} is "
        f"{100 * abs(matched.estimate):.1f} percentage points {side} than chance explains",
    )


def _evidence(case, odd, pair):
    """Return people and their counterparts, the closest first, and in words where they differ."""
    roles = ("person", "counterpart", "second_counterpart")
    shown = odd.head(MOST_SHOWN) if odd is not None else pd.DataFrame(columns=roles)
    positions = shown[list(roles)].to_numpy(dtype=np.int64).ravel()
    evidence = case.table.iloc[positions].copy()
    own = {
        "match": np.repeat(np.arange(1, len(shown) + 1), len(roles)),
        "role": np.tile(["person", "counterpart", "counterpart"], len(shown)),
        "favourable": case.decide(evidence) if len(evidence) else np.empty(0, dtype=bool),
    }
    for place, (name, values) in enumerate(own.items()):
        while name in evidence.columns:
            name += "_"
        evidence.insert(place, name, values)
    if odd is not None and len(odd):
        columns = [name for name in case.features if name != pair.sensitive_features]
        people, counterparts = (case.table[columns].iloc[odd[role].to_numpy()] for role in roles[:2])
        evidence.attrs["in_words"] = differences_in_words(people, counterparts, scale_of=case.table[columns])
    return evidence

"""FlipTest of a case: decisions that flip between people and their counterparts in another group."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from fairlab.cases import Finding
from fairlab.cases.finding import free_name, percent
from fairlab.cases.groups import LEAST_SHOWN, losers_in_words, who_loses
from fairlab.cases.method import Examination, Method
from fairlab.fliptest.counterparts import LEAST_MATCHED, MOST_PEOPLE, CounterpartTest, counterpart_test, is_odd
from fairlab.fliptest.transparency import differences_in_words

# Groups of one sensitive column that are compared, the largest first.
MOST_MATCHED = 10
# With more pairs of groups, each gets fewer people, so that the audit takes no longer: costs grow with the square.
PAIRS_AT_MOST = 6
# People with their counterparts in the evidence of one finding.
PAIRS_SHOWN = 20


class FlipTest(Method):
    """Compares people with their counterparts in another group, for every sensitive feature.

    With two groups, the first is compared with the second, in the order of the categories; with more, each with
    everyone else. The effect is the excess of decision flips in matched pairs: the share of people whose decision
    differs from that on their counterpart in the other group, minus the share whose two counterparts' decisions differ,
    or 0 if this is negative; see `fairlab.fliptest.counterpart_test`. It detects what a difference of selection rates
    (the net flips, proposition 2) cannot: flips in both directions that cancel. Its p-value is the alpha at which its
    interval reaches the margin from above. An effect is ruled out only if all flips are few, chance flips included,
    since these may hide others. Counterparts are real people, found by exact transport on all features but the
    sensitive one.

    The evidence of a finding is people of the table, by their row labels: in ``match`` number k a ``person`` and
    two counterparts with the opposite decision (``role``), with the decisions (``favourable``).
    ``evidence.attrs["in_words"]`` names the columns in which they differ most.

    Parameters
    ----------
    confidence_level : float
    random_state : int

    Examples
    --------
    >>> import fairlab
    >>> from fairlab.fliptest import FlipTest
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
    >>> case = fairlab.Case(lambda rows: rows["points"] > 20, people, sensitive_features="sex")
    >>> [finding.measure for finding in FlipTest().run(case).findings]
    ['excess_flip_rate']
    """

    title = "FlipTest"
    description = (
        "FlipTest compares the decisions on people with those on two counterparts in the other group, who are "
        "real people found by exact optimal transport, less the flips that chance explains; the paper counts flips "
        "under a map that a generative network approximates."
    )
    needs = ("decisions", "determinism", "transport")

    def findings(self, examination: Examination) -> Iterator[Finding]:
        """Yield the excess of flips of every two groups."""
        favourable = examination.case.decide()
        options = {"confidence_level": self.confidence_level, "random_state": self.random_state}
        pairs = [(name, *pair) for name in examination.case.sensitive_features for pair in _pairs(examination, name)]
        most = MOST_PEOPLE * min(1.0, (PAIRS_AT_MOST / max(len(pairs), 1)) ** 0.5)
        options["n_people"] = max(int(most), LEAST_MATCHED)
        for name, groups, is_first in pairs:
            if (matched := _matched(examination, name, is_first, favourable, options)) is not None:
                yield _flips(examination.case, name, groups, matched)


def _pairs(examination, name) -> Iterator[tuple[tuple[str, str], np.ndarray]]:
    """Yield pairs of groups of a sensitive column to compare, with a mask of the people in the first."""
    groups = examination.case.groups(name)
    sizes = groups.value_counts(sort=False)
    for pair in examination.pairs_of_groups([name], sizes, LEAST_MATCHED, MOST_MATCHED):
        yield pair, (groups == pair[0]).to_numpy()


def _matched(examination, name, is_first, favourable, options) -> CounterpartTest | None:
    """Match both groups on all features but the sensitive one; None if there is no other."""
    columns = [other for other in examination.case.features if other != name]
    if not columns:
        examination.skip(f"Flips by {name}: there is no other feature to match people on.", name)
        return None
    both = is_first, ~is_first
    # Labels are positions, as the table's own may occur twice.
    tables = [examination.case.table.loc[members, columns].set_axis(np.flatnonzero(members)) for members in both]
    return counterpart_test(tuple(tables), tuple(favourable[members] for members in both), **options)


def _flips(case, name, groups, matched: CounterpartTest) -> Finding:
    """Return the excess of decision flips in matched pairs."""
    names = " and ".join(groups)
    triples, odd = matched.triples, matched.odd
    masks = (column.to_numpy(dtype=bool) for column in (is_odd(triples), triples["favourable"]))
    by_group = who_loses(triples["group"].to_numpy(), groups, *masks)
    estimate, low, high = (max(value, 0.0) for value in (matched.estimate, matched.low, matched.high))
    evidence = _evidence(case, odd, name)
    # If groups differ in a feature, so may counterparts, and the feature may explain the decision.
    differ = evidence.attrs["in_words"] if len(odd) >= LEAST_SHOWN else ""
    said = "; ".join(filter(None, [losers_in_words(by_group, "it"), differ]))
    return Finding(
        FlipTest.title,
        (name,),
        "everyone",
        f"excess decision flips in matched pairs, {names} (0: chance explains them)",
        estimate,
        low,
        high,
        matched.p_value(),
        evidence,
        3 * len(triples),
        f"Between matched people of {names}, {percent(estimate)} of decisions flip beyond what chance explains, "
        f"of {percent(matched.flips)} in all" + (f": {said}" if estimate and said else ""),
        measure="excess_flip_rate",
        test=matched.p_value,
        smallest=matched.smallest,
        bounds=matched.bounds,
        most=matched.flips,
        by_group=by_group,
    )


def _evidence(case, odd, sensitive_feature) -> pd.DataFrame:
    """Return people and their counterparts, the closest first, with a sentence on the columns in which they differ."""
    roles = ("person", "counterpart", "second_counterpart")
    shown = odd.sort_values("favourable", kind="stable").head(PAIRS_SHOWN)  # those who lose first
    positions = shown[list(roles)].to_numpy(dtype=np.int64).ravel()
    evidence = case.table.iloc[positions].copy()
    own = {
        "match": np.repeat(np.arange(1, len(shown) + 1), len(roles)),
        "role": np.tile(["person", "counterpart", "counterpart"], len(shown)),
        "favourable": case.decide()[positions],
    }
    for place, (name, values) in enumerate(own.items()):
        evidence.insert(place, free_name(name, evidence), values)
    if len(odd):
        columns = [name for name in case.features if name != sensitive_feature]
        people, counterparts = (case.table[columns].iloc[odd[role].to_numpy()] for role in roles[:2])
        evidence.attrs["in_words"] = differences_in_words(people, counterparts, scale_of=case.table[columns])
    return evidence

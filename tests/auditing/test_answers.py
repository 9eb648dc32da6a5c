"""The three answers of an audit: found, ruled out or undecided, and how often they are wrong; counts in docs/truth.

Selection and true positive rates are compared as an audit does it: of a sensitive feature with two groups, of one with
three (60, 30 and 10 percent of the people) and of their six intersections, with everyone else. People are drawn as
counts, whose truth is known; the decision rule is that of reports, over all audits at once.

``PYTHONPATH=tests python tests/auditing/test_answers.py --write`` makes tables and figure anew.
"""

import sys
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from audited import finding, people, report_of
from scipy.special import ndtri
from scipy.stats import binom, binomtest
from truth import FOLDER, main

from fairlab import Case, audit
from fairlab.auditing.guard import judge
from fairlab.auditing.report import answers
from fairlab.data.project import project
from fairlab.statistics import difference_bounds, difference_p_value, exact_interval, share_bounds

ALPHA, MARGIN, WITHIN = 0.05, 0.005, 0.05
SHARES = np.outer([0.5, 0.5], [0.6, 0.3, 0.1])  # of the people, by sex and race
CELLS = list(product(range(2), range(3)))
GROUPS = [  # as cells: one sex, each race, each intersection
    np.array([sex == 0 for sex, _ in CELLS]),
    *(np.array([race == one for _, race in CELLS]) for one in range(3)),
    *np.eye(6, dtype=bool),
]
POSITIVE = 0.4  # share of people whose true label is favourable
N_AUDITS = 1_000
# Who is selected more often, as cells; the effect is scaled so that the largest difference is as stated.
WORLDS = {
    "sex": GROUPS[0],
    "a group of 10%": GROUPS[3],
    "an intersection of 5%": GROUPS[-1],
    "an intersection of 30%": GROUPS[4],
}


def differences(rates):
    """Return the difference between the rate of each group and that of everyone else, by the rates of the cells."""
    means = [[np.average(rates, weights=SHARES.ravel() * mask) for mask in (group, ~group)] for group in GROUPS]
    return np.array([inside - outside for inside, outside in means])


def rates_of(world, largest):
    """Return selection rates of the cells around 0.4 whose largest difference is that; all equal for none."""
    raised = WORLDS[world].astype(float)
    return 0.4 + largest * (raised - 0.5) / abs(differences(raised)).max()


def drawn(rng, rates, n_people, n_audits):
    """Return hits and totals of all comparisons of many audits, of shape (n_audits, 20, 2).

    Selection rates come first, then true positive rates, which differ as much.
    """
    sizes = rng.multinomial(n_people, SHARES.ravel(), size=n_audits)
    positives = rng.binomial(sizes, POSITIVE)
    true_positives = rng.binomial(positives, rates)
    hits = true_positives + rng.binomial(sizes - positives, rates)
    return tuple(
        np.stack(
            [
                np.stack([part[:, mask].sum(1) for mask in (group, ~group)], axis=-1)
                for part in parts
                for group in GROUPS
            ],
            axis=1,
        )
        for parts in ((hits, true_positives), (sizes, positives))
    )


def rejected(hits, totals, alpha, holds):
    """Return which comparisons Holm's method rejects in each audit, by whether their bounds hold at a level."""
    n_tests = hits.shape[1]
    left, found = np.full(len(hits), n_tests), np.zeros(hits.shape[:2], dtype=bool)
    for _ in range(n_tests):
        level = (alpha / np.maximum(left, 1))[:, None, None]
        again = holds(*difference_bounds(hits, totals, confidence_level=1 - level))
        if (again == found).all():
            return found
        found, left = again, n_tests - again.sum(axis=1)
    return found


def decided(hits, totals, *, margin=MARGIN, within=WITHIN, alpha=ALPHA):
    """Return which comparisons are beyond, which are within, and whether all are, of many audits at once."""
    beyond = rejected(hits, totals, alpha, lambda low, high: (low > margin) | (high < -margin))
    inside = rejected(hits, totals, 2 * alpha, lambda low, high: (-within < low) & (high < within))
    low, high = difference_bounds(hits, totals, confidence_level=1 - 2 * alpha)
    is_within = ((-within < low) & (high < within)).all(axis=1)
    return beyond, inside | is_within[:, None], is_within


def false_answers(world, largest, n_people, seed=0, n_audits=N_AUDITS, **margins):
    """Return in how many audits of a world something is said that is not so, of `n_audits`."""
    rng = np.random.default_rng([seed, n_people, int(1e4 * largest), *WORLDS[world].astype(int)])
    rates = rates_of(world, largest)
    size = np.tile(np.round(abs(differences(rates)), 9), 2)
    beyond, inside, is_within = decided(*drawn(rng, rates, n_people, n_audits), **margins)
    margin, within = margins.get("margin", MARGIN), margins.get("within", WITHIN)
    return {
        "found, of what is not": int((beyond & (size <= margin)).any(axis=1).sum()),
        "ruled out, of what is not": int((inside & (size >= within)).any(axis=1).sum()),
        "all ruled out, though one is not": int(is_within.sum()) if size.max() >= within else 0,
    }


SIZES = (300, 1_000, 10_000, 100_000)
STATED = {  # largest difference, margins, the answers that are wrong then
    "fair": (0.0, {}, ["found, of what is not"]),
    "at the margin of a finding, 0.005": (0.005, {}, ["found, of what is not"]),
    "at one margin for both, 0.05": (0.05, {"margin": 0.05}, ["found, of what is not", "ruled out, of what is not"]),
    "at the margin of 0.05": (0.05, {}, ["ruled out, of what is not", "all ruled out, though one is not"]),
    "at the margin of 0.1": (0.1, {"within": 0.1}, ["ruled out, of what is not", "all ruled out, though one is not"]),
}


def count(sizes=SIZES, n_audits=N_AUDITS):
    """Return the table of docs/truth: of each world and size how often each wrong answer is not given."""
    rows = []
    for name, (largest, margins, wrong) in STATED.items():
        for world, n_people in product(list(WORLDS)[: None if largest else 1], sizes):
            found = false_answers(world, largest, n_people, n_audits=n_audits, **margins)
            where = f", by {world}" if largest else ""
            rows += [(f"{name}{where}, {n_people:,} people: not said: {each}", found[each]) for each in wrong]
    return counted(rows, n_audits)


def counted(rows, n_audits):
    """Return a table of statements and how often they do not hold, with binomial intervals of how often they do."""
    table = pd.DataFrame(rows, columns=["statement", "false"])
    low, high = exact_interval(n_audits - table["false"], np.full(len(table), n_audits), alpha=0.05)
    held = n_audits - table.pop("false")
    return table.assign(audits=n_audits, held=held, share=held / n_audits, stated=1 - ALPHA, low=low, high=high).round(
        4
    )


def surveyed(rng, largest, n_people=1_000):
    """Return an audit of decisions with weights, several of one person, in which one sex is selected more often.

    A stratum with a higher rate was sampled a fifth as often; a person has a rate of their own.
    """
    man, upper = rng.random((2, n_people)) < [[0.5], [1 / 6]]
    rate = (0.4 + largest * (man - 0.5)) * np.where(upper, 1.4, 0.6)
    rate, rows = rng.beta(1.5 * rate, 1.5 * (1 - rate)), np.repeat(np.arange(n_people), rng.choice([1, 2, 6], n_people))
    table = pd.DataFrame(
        {
            "sex": np.where(man, "m", "f")[rows],
            "who": rows,
            "weight": np.where(upper, 5, 1)[rows],
            "decided": rng.random(len(rows)) < rate[rows],
        }
    )
    case = Case.from_decisions(table, "decided", sensitive_features="sex", weights="weight", person="who")
    return audit(case, methods=["rates"], within=0.2, progress=False)


def count_surveyed(n_audits=300):
    """Return the same for weights and several decisions of one person, by audits."""
    rows = []
    for name, largest in (("fair", 0.0), ("at the margin of 0.2", 0.2)):
        made = [surveyed(np.random.default_rng([number, 7, int(10 * largest)]), largest) for number in range(n_audits)]
        wrong = [bool(each.significant) if largest == 0 else each.is_within for each in made]
        said = "found, of what is not" if largest == 0 else "all ruled out, though one is not"
        rows.append((f"{name}, by sex, weights and several decisions of 1,000 people: not said: {said}", sum(wrong)))
    return counted(rows, n_audits)


def power(n_audits=500):
    """Return how often all is ruled out of fair models, by people and margin, and of differences of half of it."""
    rows = []
    for within, n_people in product((0.02, 0.05, 0.1), (300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000)):
        for share in (0.0, 0.5):
            rng = np.random.default_rng([1, n_people, int(1e4 * within), int(10 * share)])
            counts = drawn(rng, rates_of("sex", share * within), n_people, n_audits)
            beyond, _, is_within = decided(*counts, margin=within, within=within)
            rows.append((within, n_people, share * within, n_audits, is_within.mean(), beyond.any(axis=1).mean()))
    names = ["within", "people", "largest difference", "audits", "all ruled out", "difference found"]
    return pd.DataFrame(rows, columns=names).round(4)


def drawing(table):
    """Return the figure of the power."""
    from fairlab.plotting import BLACK, LINES, legend_below, panels

    figure, axes = panels(1, 2, width=3.4, height=2.8, sharey=True)
    for axis, share in zip(axes, (0.0, 0.5), strict=True):
        for (within, rows), line in zip(table.groupby("within"), LINES, strict=False):
            some = rows[np.isclose(rows["largest difference"], share * within)]
            axis.plot(some["people"], some["all ruled out"], label=f"{100 * within:g} points", markersize=4, **line)
        axis.axhline(0.8, color=BLACK, linewidth=0.8, linestyle=":")
        axis.set(xscale="log", xlabel="people", title="no difference" if share == 0 else "a difference of half of it")
    axes[0].set_ylabel("audits that rule it out")
    legend_below(figure)
    return figure


# by hand


@pytest.mark.parametrize(
    ("beyond", "within", "expected"),
    [
        # Holm at 5%: 0.01 * 3 and 0.02 * 2 are found; 0.001 * 3 and 0.024 * 2 ruled out; nan never is.
        ([0.01, 0.02, 0.2], [0.9, 0.9, 0.9], ["found", "found", "undecided"]),
        ([0.9, 0.8, 0.7], [0.001, 0.024, 0.06], ["ruled out", "ruled out", "undecided"]),
        ([0.9, 0.9, 0.9], [0.03, 0.04, 0.05], ["ruled out"] * 3),  # all need no correction
        ([0.9, 0.9, 0.9], [0.03, 0.04, 0.051], ["undecided"] * 3),
        ([0.9, 0.9], [0.001, np.nan], ["ruled out", "undecided"]),
        ([0.001, 0.9], [0.001, 0.001], ["found", "ruled out"]),  # small, and found
        ([], [], []),
    ],
)
def test_answers_by_hand(beyond, within, expected):
    assert answers(beyond, within, 0.05).tolist() == expected


def shares(hits, n, **changes):
    """Return a finding that a share is a flip rate, with the bounds of a binomial."""
    low, high = share_bounds(hits, n, confidence_level=0.95)
    parts = {"low": low, "high": high, "bounds": partial(share_bounds, hits, n), "measure": "counterfactual_flip_rate"}
    return finding(people(), changes.pop("p_value", 0.9), hits / n, **parts | changes)


def test_a_p_value_of_a_small_share_is_that_of_the_one_sided_binomial_test():
    found = [shares(0, 100), shares(3, 200), shares(30, 200), shares(30, 200, limit=0.2)]
    assert [each.p_value_within(0.05) for each in found] == pytest.approx(
        [0.95**100, binom.cdf(3, 200, 0.05), 1, binom.cdf(30, 200, 0.2)]
    )
    without_bounds, without_test = finding(people(), 0.9), shares(0, 100, p_value=np.nan)
    assert np.isnan([each.p_value_within(0.05) for each in (without_bounds, without_test)]).all()


def test_people_needed_by_hand():
    # Nobody of 40 flips: to be at most 5%, and that from above, it takes 1.645 and 1.282 errors.
    one = shares(0, 40)
    by_hand = (2.9264 * one.high / ndtri(0.975) / 0.05) ** 2
    assert one.times_within(0.05, 0.05) == pytest.approx(by_hand, 1e-3)
    # As one of four, 2.241 errors.
    assert one.times_as_many(0.005, 0.05, 0.05, 4) == pytest.approx(by_hand * (3.5230 / 2.9264) ** 2, 1e-3)


def test_people_needed_are_enough_for_the_wider_side_of_an_interval():
    # 299 of 300 are selected in one group, all 30 in the other: -0.3 points, by the interval up to 11.3.
    options = {"low": -0.018, "high": 0.113, "bounds": lambda confidence_level: (-0.018, 0.113)}
    one = finding(people(), 0.9, -1 / 300, **options)
    assert one.p_value_within(0.05) > 0.05
    by_hand = (2.9264 * (0.113 + 1 / 300) / 1.95996 / (0.05 + 1 / 300)) ** 2
    assert one.times_as_many(0.005, 0.05, 0.05, 1) == pytest.approx(by_hand, 1e-3) == pytest.approx(10.6, 0.01)
    other = finding(people(), 0.9, 1 / 300, bounds=lambda confidence_level: (-0.113, 0.018))
    assert other.times_as_many(0.005, 0.05, 0.05, 1) == pytest.approx(by_hand, 1e-3)


def test_people_needed_are_as_many_as_holms_method_asks_for_unless_all_can_be_ruled_out():
    # Nobody of 50 flips: with a p-value of 0.077, it is not shown to be less than 5%.
    small, unclear, large = shares(0, 400), shares(0, 50), shares(80, 400, p_value=1e-9, test=lambda margin: 1e-9)
    as_one, as_first_of_three = (unclear.times_within(0.05, 0.05, n) for n in (1, 3))
    assert as_first_of_three == pytest.approx(as_one * (3.4096 / 2.9264) ** 2, 1e-3)
    for others, times in (((small, small), as_one), ((small, large), as_first_of_three)):
        frame = report_of(unclear, *others).frame
        assert frame.loc[frame["answer"].eq("undecided"), "people_needed"].tolist() == pytest.approx([400 * times])


def test_verdicts_and_what_is_required_of_them():
    def judged(*found):
        made = report_of(*found)
        return made.verdict, made.answers, len(judge(made, require_within=True).failing), len(judge(made).failing)

    small, unclear, large = shares(0, 400), shares(16, 400), shares(80, 400, p_value=1e-9, test=lambda margin: 1e-9)
    assert [judged(*some) for some in ((small, small), (small, unclear), (small, unclear, large))] == [
        ("large differences ruled out", {"found": 0, "ruled out": 2, "undecided": 0}, 0, 0),
        ("undecided", {"found": 0, "ruled out": 1, "undecided": 1}, 1, 0),
        ("difference found", {"found": 1, "ruled out": 1, "undecided": 1}, 2, 1),
    ]
    said = report_of(small).summary
    assert "differences as large as 5 percentage points are ruled out in every comparison made, with an error" in said
    assert "The 1 comparison: counterfactual flip rate (sex)." in said


def test_the_rule_for_many_audits_is_that_of_a_report():
    hits, totals = drawn(np.random.default_rng(3), rates_of("sex", 0.05), 20_000, 10)
    beyond, inside, is_within = decided(hits, totals)
    for k in range(len(hits)):
        found = [
            finding(people(), 0.5, test=partial(difference_p_value, *both), bounds=partial(difference_bounds, *both))
            for both in zip(hits[k], totals[k], strict=True)
        ]
        made = report_of(*found)
        expected = np.where(beyond[k], "found", np.where(inside[k], "ruled out", "undecided"))
        assert (sorted(made.frame["answer"]), made.is_within) == (sorted(expected), is_within[k])


# by simulation


def test_a_few_audits_at_the_margin_are_as_stated():
    assert np.ptp(rates_of("sex", 0.05)) == pytest.approx(0.05)
    for name, (largest, margins, wrong) in STATED.items():
        found = false_answers("an intersection of 5%", largest, 20_000, n_audits=200, **margins)
        assert all(binomtest(found[each], 200, ALPHA, alternative="greater").pvalue > 0.001 for each in wrong), name


def test_committed_counts_are_as_stated():
    table = pd.read_csv(FOLDER / "answers.csv")
    assert (table["held"] >= binom.ppf(0.001, table["audits"], table["stated"])).all()
    assert table["statement"].str.contains("all ruled out, though").sum() >= 24
    fair = pd.read_csv(FOLDER / "answers_power.csv").query("`largest difference` == 0")
    said = fair.set_index(["within", "people"])["all ruled out"].round(1)
    # as docs/guide/answers.md says
    assert (said[0.05, 10_000], said[0.05, 100_000], said[0.1, 10_000]) == (0, 1, 0.5)


@pytest.mark.slow
def test_the_counts_come_out_again():
    pd.testing.assert_frame_equal(
        pd.concat([count(), count_surveyed()], ignore_index=True), pd.read_csv(FOLDER / "answers.csv")
    )
    pd.testing.assert_frame_equal(power(), pd.read_csv(FOLDER / "answers_power.csv"))


if __name__ == "__main__":
    main("answers", lambda: pd.concat([count(), count_surveyed()], ignore_index=True))
    main("answers_power", power)
    if "--write" in sys.argv:
        drawing(pd.read_csv(FOLDER / "answers_power.csv")).savefig(project().docs / "_static" / "answers_power.svg")

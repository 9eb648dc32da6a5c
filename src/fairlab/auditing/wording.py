"""A report in plain words: the sentences at its head, and the lines that it shares with the page."""

import math

import numpy as np
import pandas as pd

from fairlab.cases import Case, Finding
from fairlab.cases.finding import decimals, listed, percent
from fairlab.cases.groups import named_groups
from fairlab.statistics import exact_interval

TURNED = 0.05  # level of a test that most flips are in one direction
MOST_FACTS = 3  # facts with a sentence each
MOST_RATES = 4  # groups in a line
OF_OWN_UNITS = ("loss_ratio", "correlation", "mean_difference")  # measures that are no shares
# What to do about a finding, by its measure; the last is for all others.
NEXT_STEPS = {
    "selection_rate_difference": "Check whether the groups differ in what the decision should depend on: compare rates "
    "among people who are similar in that respect, and look for the feature that carries the difference.",
    "true_positive_rate_difference": "Among people with a favourable true label, one group is missed more often: check "
    "how its labels were obtained and whether the features are as informative for it, then consider thresholds by "
    "group or reweighting.",
    "false_positive_rate_difference": "One group is wrongly selected more often: check how its labels were obtained "
    "and how often scores near the threshold are wrong in each group.",
    "error_rate_difference": "The model is wrong more often here: look for missing or rare values in this subgroup, "
    "and check how many of its people the model was trained on.",
    "counterfactual_flip_rate": "The sensitive feature itself changes these decisions: remove it from the features, or "
    "justify its use; the pairs in the report show who is affected.",
    "demographic_parity_difference": "With all else equal, the model prefers one value of the sensitive feature: "
    "remove it from the features, or justify its use.",
    "excess_flip_rate": "Matched people get different decisions. They are as similar as the groups allow, so a "
    "feature in which they still differ may explain the decisions. Look at the pairs in the report, and at the "
    "features in which they differ most.",
    "loss_ratio": "Small changes along the direction in which the groups differ make the model less accurate: look for "
    "features that act as proxies for the group, and train without that direction.",
    "calibration_difference": "Equal scores mean different things in different groups: check how the labels were "
    "obtained, and recalibrate scores or set thresholds by group.",
    "mean_difference": "Check whether the groups differ in what the number should depend on, and compare people who "
    "are similar in that respect.",
    "correlation": "The prediction is correlated with the sensitive feature: compare people who are similar in what it "
    "should depend on.",
    "discriminatory_inputs": "Look at the inputs found: features that occur in many of them show where the sensitive "
    "feature affects the decision.",
    "": "Look at the people or inputs behind this finding.",
}


def lines(report) -> list[tuple[str, str]]:
    """Return the main statements of a report, the most important first: pairs of a heading and a sentence.

    The first is the verdict. A summary joins them in a paragraph, a shell prints one a line, and a page shows them
    first.
    """
    untested = f"no statistical test was possible for {listed(report.not_assessed)}."
    return [
        (report.verdict.capitalize(), _verdict(report)),
        *([("Not assessed", untested)] if report.n_tests and report.not_assessed else []),
        *([("Not finished", _unfinished(report))] if report.unfinished else []),
        *((fact[0].who, _fact(fact)) for fact in report.facts[:MOST_FACTS]),
        *(
            (heading, said)
            for heading, said in (
                ("Who loses", _who_loses(report)),
                ("Comparisons", _answers(report)),
                ("Could be missed", _unseen(report)),
                ("Not compared", _left_out(report)),
                ("Generated inputs", _on_inputs(report)),
                ("Next", _next(report)),
            )
            if said
        ),
    ]


def _unfinished(report) -> str:
    """Return which methods did not finish, and why."""
    methods: dict[str, list[str]] = {}
    for method, reason in report.unfinished.items():
        methods.setdefault(reason, []).append(method)
    return " ".join(f"{listed(those)}: {reason}" for reason, those in methods.items())


def _left_out(report) -> str:
    """Return a sentence on the groups that were not compared, of features that were assessed."""
    reasons = dict.fromkeys(why for _, why in report.skipped if getattr(why, "left_out", ()))
    return " ".join(why for why in reasons if not {*why.sensitive_features} <= report.not_assessed.keys())


def rates(report) -> list[tuple[str, str]]:
    """Return the selection rates by each sensitive feature, those selected least first, as lines like those above."""
    said = []
    for name in report.case.sensitive_features:
        if name in report.groups:
            shown = report.groups[name].query("not small")["selection rate"].dropna().sort_values(kind="stable")
            most = " (least and most)" * (len(shown) > MOST_RATES)
            few = [f"{group} {percent(rate)}" for group, rate in (shown.iloc[[0, -1]] if most else shown).items()]
            said += [(f"Selected, by {name}", f"{', '.join(few)}{most}.")] * (len(few) > 1)
    return said


def comparable(table: pd.DataFrame) -> pd.DataFrame:
    """Return the groups of an impact table that have a ratio, and are not too small for one."""
    return table[table["impact ratio"].notna() & ~table["small"]]


def summary(report) -> str:
    """Return the verdict in a few sentences: what was found or not, how sure, what could not be seen."""
    return " ".join(f"{heading}: {sentence}" for heading, sentence in lines(report))


def next_step(measure: str) -> str:
    """Return what to do about a finding of a measure, in a sentence."""
    return NEXT_STEPS.get(measure, NEXT_STEPS[""])


def name_of(case: Case) -> str:
    """Return a name for a case's model: that of a function, or of its type; a phrase for decisions without a model."""
    if case.model is None:
        return "a table of decisions without a model"
    name = getattr(case.model, "__name__", None) or type(case.model).__name__
    return "model" if name == "<lambda>" else name


def n_people(case: Case) -> int:
    """Return the number of different people that decisions are about."""
    return len(case.table) if case.person is None else len(set(case.person))


def favourable(case: Case) -> str:
    """Return which decisions count as favourable: "hired = yes", "scores of at least 0.5 for yes"."""
    if case.task == "numbers":
        return "none: numbers are compared"
    name, label, threshold = case.outcome["name"], case.pos_label, case.decision_threshold
    if threshold is not None:
        return f"scores of at least {threshold:g}" + (f" for {label}" if label is not None else "")
    return str(label) if name is None else f"{name} = {label}"


def count(n: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: ``"1 finding"``, ``"1,200 findings"``."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def number(value: float) -> str:
    """Return a number in three significant digits; an empty text for nan."""
    return "" if math.isnan(value) else f"{value:.3g}"


def p_value(value: float) -> str:
    """Return a p-value in words, never as 0."""
    return "no test" if math.isnan(value) else f"{value:.1g}" if value >= 1e-4 else "< 0.0001"


def interval(finding: Finding) -> str:
    """Return an interval in words, or "no interval" where its ends are unknown."""
    if math.isnan(finding.low) or math.isnan(finding.high):
        return "no interval"
    return f"{number(finding.low)} to {number(finding.high)}"


def reasons(report) -> list[str]:
    """Return one sentence for each sensitive column that was not assessed, with the reasons."""
    return [f"{name} was not assessed. {' '.join(why)}" for name, why in report.not_assessed.items()]


def line(finding: Finding) -> str:
    """Return a finding in a few words: its sentence, or who, where and which effect, then its interval and method."""
    said = finding.sentence or f"{finding.who}, {finding.where}: {finding.effect} {number(finding.estimate)}"
    is_share, ends = _is_share(finding.measure), (finding.low, finding.high)
    if finding.estimate < 0 and finding.measure.endswith("difference"):  # "lower by"
        ends = 0.0 - finding.high, 0.0 - finding.low
    known = " to ".join(decimals(100 * end) if is_share else number(end) for end in ends)
    known = f"interval {known}{' percentage points' * is_share}" if not np.isnan(ends).any() else interval(finding)
    return f"{said} ({known}, by {finding.method})"


def comparisons(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows of a report's frame as a table in words."""
    return pd.DataFrame(
        {
            "comparison": [f"{finding.comparison} ({finding.method})" for finding in rows["finding"]],
            "answer": rows["answer"],
            "estimate": rows["estimate"].map(number),
            "interval": rows["finding"].map(interval),
            "p": rows["p_value"].map(p_value),
            "people needed": rows["people_needed"].map(people_needed),
            "n": rows["n"].map("{:,}".format),
        }
    )


def points(size: float) -> str:
    """Return a share as percentage points in words: "5 percentage points"."""
    return f"{100 * size:.3g} percentage points"


def people_needed(people: float) -> str:
    """Return the approximate number of people needed, in two digits; an empty text if it is not finite."""
    return f"{float(f'{people:.1e}'):,.0f}" if math.isfinite(people) else ""


def settled_by(people: float) -> str:
    """Return how many people would settle a comparison, in words; an empty text if the number is not finite."""
    return f"about {most} people would settle it" if (most := people_needed(people)) else ""


def size(finding: Finding) -> str:
    """Return the size of an effect in words: "4.3% flip", "a selection rate difference of 12.1 points"."""
    share, measure = abs(finding.estimate), finding.measure or "effect"
    if measure.endswith("flip_rate"):
        return f"{percent(share)} flip"
    if _is_share(measure):
        return f"{_one(measure)} of {decimals(100 * share)} points"
    return f"{_one(measure)} of {number(finding.estimate)}"


def _is_share(measure: str) -> bool:
    """Return whether a measure is a share, or a difference of shares."""
    return measure.endswith(("difference", "flip_rate")) and measure not in OF_OWN_UNITS


def _one(measure: str) -> str:
    """Return a measure in words with its article: "an error rate difference"."""
    return f"a{'n' * measure.startswith(tuple('aeiou'))} {measure.replace('_', ' ')}"


def _next(report) -> str:
    """Return what to do next, by the verdict."""
    if report.significant:
        return next_step(report.significant[0].measure)
    if not report.n_tests:
        return ""
    case = report.case
    if case.task != "numbers" and case.decide().mean() in (0, 1):
        return (
            "Check the decisions first: they are all alike, as happens when inputs are not scaled or encoded as in "
            "training."
        )
    if report.is_within:
        return "Keep this report, and repeat the audit when the decisions or the population change."
    if report.unfinished:
        return (
            f"Repeat the audit so that {listed(report.unfinished)} can finish: with more seconds or queries, or with a "
            "model that answers on all rows; or choose other methods (methods=)."
        )
    more = "Collect data on more people"
    if len(case.table) < case.n_given:
        more = f"Examine more of the {case.n_given:,} rows with a larger budget"
    return (
        f"{more}, or compare fewer and larger groups; or, if a larger difference would be acceptable, "
        "state it (within=) before you repeat the audit."
    )


def _verdict(report) -> str:
    """Return the sentence that follows the verdict: the model, the people, and the findings by sensitive feature."""
    features, name = listed(report.case.sensitive_features), report.model_name or name_of(report.case)
    if not report.n_tests:
        return f"no statistical test was possible, so this audit says nothing about differences by {features}."
    rows, given, person = len(report.case.table), report.case.n_given, report.case.person
    people = count(n_people(report.case), "person", "people")
    people = people if person is None else f"{count(rows, 'decision')} about {people}"
    sample = f" (a random sample of {given:,})" if rows < given else ""
    start = f"{name}, tested on {people}{sample} for differences by {features}"
    tests, risk = count(report.n_tests, "comparison"), f"{100 * (1 - report.confidence_level):.2g}%"
    if report.significant:
        return f"{start}: {count(len(report.facts), 'finding')}, {listed(map(_seen, report.facts))}."
    if report.is_within:
        made = listed(
            dict.fromkeys(f"{row.measure.replace('_', ' ')} ({row.who})" for row in report.tested.itertuples())
        )
        return (
            f"{start}: differences as large as {margins(report, 'within')} are ruled out in every comparison made, "
            f"with an error probability of at most {risk}. The {tests}: {made}."
        )
    least, large = margins(report, "margin"), margins(report, "within")
    few = f"there are too few people to rule out one as large as {large}"
    why = [few] if report.tested["answer"].eq("undecided").any() else []
    why += [f"{listed(report.unfinished)} did not finish"] if report.unfinished else []
    return f"{start}: no difference of more than {least} was found, but {' and '.join(why or [few])}."


def _seen(fact: list[Finding]) -> str:
    """Return a fact in a few words: by how many methods it was seen, or how large it is."""
    methods = dict.fromkeys(finding.method for finding in fact)
    return f"{fact[0].who} ({f'seen by {len(methods)} methods' if len(methods) > 1 else size(fact[0])})"


def _fact(fact: list[Finding]) -> str:
    first, *others = fact
    if not others:
        return f"{line(first)}."
    said = f"{count(len(others), 'further comparison')} {'shows' if len(others) == 1 else 'show'} it"
    n_turned = sum(_is_turned(each, first) for each in others)
    whole = ", in the other direction" if n_turned == len(others) else f", {n_turned:,} of them in the other direction"
    return f"{line(first)}. {said}{whole * bool(n_turned)}."


def _is_turned(finding: Finding, first: Finding) -> bool:
    """Return whether a finding contradicts a first one.

    It does if it has the opposite sign for the same measure and group, about other people; or if most of its flips,
    beyond chance, are at the expense of the group that is selected more often.
    """
    if finding.by_group is not None and first.measure == "selection_rate_difference" and finding.who == first.who:
        flips = finding.by_group[["lose", "gain"]]
        ahead = np.array([first.side(group) for group in flips.index])
        contrary = int((flips.to_numpy() * np.stack([ahead > 0, ahead < 0], axis=1)).sum())
        agreeing = int((flips.to_numpy() * np.stack([ahead < 0, ahead > 0], axis=1)).sum())
        return bool(exact_interval(contrary, contrary + agreeing, alpha=TURNED)[0] > 0.5)
    about = {(each.measure, each.who, each.groups[:1] or each.effect) for each in (finding, first)}
    is_signed = first.measure.endswith(("difference", "correlation"))
    return is_signed and len(about) == 1 and finding.estimate * first.estimate < 0


def _who_loses(report) -> str:
    """Return, for each fact, the group that is selected least, or the one with the largest share who lose by flips."""
    said = []
    for fact in report.facts:
        selected = [each for each in fact if (each.measure, each.where) == ("selection_rate_difference", "everyone")]
        # The fewest features of these findings: groups differ by these, whatever else the fact is about.
        who = min((each.sensitive_features for each in selected), key=len, default=())
        table = report.groups.get(listed(who))
        flips = next((finding for finding in fact if finding.by_group is not None), None)
        ratios = pd.Series(dtype=float) if table is None else table["impact ratio"].dropna()
        sides = {
            group: {each.side(group) for each in selected if each.sensitive_features == who} for group in ratios.index
        }
        # A small group is mentioned only for its own findings.
        ratios = ratios[[not table["small"][group] or -1 in sides[group] for group in ratios.index]]
        less = [group for group in ratios.index if -1 in sides[group]]
        some = ratios[less] if less else ratios  # a group without a finding is not said to lose
        if any(1 in each or -1 in each for each in sides.values()) and some.min() < ratios.max():
            said += [
                f"{listed(who)}: {some.idxmin()}, selected {decimals(some.min(), 2, 1)} times as often as "
                f"{ratios.idxmax()}"
            ]
        elif flips is not None and (named := named_groups(flips.by_group))["lose"].any():
            group = (named["lose"] / named["people"]).idxmax()
            n, most = named.loc[group, ["lose", "people"]]
            said += [
                f"{listed(flips.sensitive_features)}: {group}, where {n:,} of {most:,} people would otherwise get "
                "the favourable decision"
            ]
    return f"{'; '.join(dict.fromkeys(said))}." if said else ""


def margins(report, which: str) -> str:
    """Return the size above which effects are found, or below which they are ruled out, in points or own units."""
    size = {"margin": report.margin, "within": report.within}[which]
    rows = [
        (row.measure, row.limit if which == "margin" else row.finding.least_large(size))
        for row in report.tested.itertuples()
    ]
    own = [f"{_one(measure)} of {limit:.3g}" for measure, limit in rows if measure in OF_OWN_UNITS]
    shares = [points(size)] * any(measure not in OF_OWN_UNITS for measure, _ in rows)
    return " or ".join([*shares, *dict.fromkeys(own)])


def _answers(report) -> str:
    """Return the number of comparisons with each answer, and how many people the undecided ones need."""
    if not report.n_tests or (report.is_within and not report.significant):
        return ""
    (found, n_found), (ruled_out, n_ruled_out), (undecided, n_undecided) = report.answers.items()
    needed = report.tested.loc[report.tested["answer"].eq(undecided), "people_needed"]
    most, large = people_needed(needed.max()), margins(report, "within")
    whom = "the least certain of them" if n_undecided > 1 else "it"
    rest = f"{n_undecided:,} {'is' if n_undecided == 1 else 'are'} {undecided}"
    said = [
        f"a difference of more than {margins(report, 'margin')} is {found} in {n_found:,} of {report.n_tests:,} "
        f"comparisons (family-wise error rate at most {100 * (1 - report.confidence_level):.2g}%)",
        f"one as large as {large} is {ruled_out} in {'all of them' if report.is_within else f'{n_ruled_out:,}'}",
        *([] if report.is_within else [f"{rest}, and {whom} needs about {most} people" if most else rest]),
    ]
    return f"{'; '.join(said)}."


def _unseen(report) -> str:
    """Return the sizes of selection rate differences and flip rates that the audit could well have missed."""
    frame, measures = report.frame, ("selection_rate_difference", "counterfactual_flip_rate")
    is_shown = frame["where"].eq("everyone") & frame["measure"].isin(measures) & np.isfinite(frame["smallest"])
    groups = frame[is_shown & frame["who"].isin(report.case.sensitive_features)].groupby(["measure", "who"])["smallest"]
    smallest, some = groups.max(), " in at least one comparison" * bool((groups.size() > 1).any())
    said = []
    for measure in measures:
        known = [name for name in report.case.sensitive_features if (measure, name) in smallest.index]
        if shown := [f"{decimals(100 * smallest[measure, name])} points ({name})" for name in known]:
            said.append(f"{_one(measure)} below {listed(shown)}")
    return f"{' or '.join(said)} would be detected with less than 80% power{some}." if said else ""


def _on_inputs(report) -> str:
    found = int((report.frame["significant"] & report.frame["population"].ne("people")).sum())
    if not found or report.verdict_on == "all":
        return ""
    were = "was" if found == 1 else "were"
    return f"{count(found, 'difference')} {were} found on generated inputs, which do not affect the verdict."


def how(report) -> str:
    """Return a sentence on how many rows the model was queried with, and by which methods."""
    if report.case.model is None:
        return "The decisions were audited as recorded: there is no model, and nothing was queried."
    methods = [result.method for result in report.results if result.findings or result.n_queries]
    again = f", and {count(report.n_repeated, 'row')} again for the determinism check, which the budget does not count"
    before = f", besides {count(report.n_beside, 'other row')} when the case was made"
    queries = report.n_queries - report.n_repeated - report.n_beside
    return (
        f"{listed(methods) or 'No method'} queried the model with {count(queries, 'row')} (at most {report.budget:,} "
        f"were allowed{before if report.n_beside else ''}){again if report.n_repeated else ''}."
    )

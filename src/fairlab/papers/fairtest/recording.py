"""Records and claims of each experiment, by its name."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from fairlab.data import Dataset
from fairlab.fairtest.report import SIGNIFICANCE, Association, AssociationReport, Subgroup
from fairlab.fairtest.resampling import EXACT_LIMIT
from fairlab.papers.fairtest import contexts
from fairlab.papers.fairtest.microbenchmark import TRIALS_OF_A_RUN, point
from fairlab.papers.fairtest.shoppers import values_over_draws
from fairlab.papers.fairtest.studies import ERROR, MOVIE_AGE, RATING, TITLES

RECONSTRUCTED = ["staples-population"]
ALL_SIZES, ALL_DELTAS, N_PAIRS = [100, 500, 1000, 2000, 5000, 10000], [2.5, 5, 10, 15], 10
HALF_A_DIGIT = 0.05  # of the printed means
THREE_TIMES = (2, 4)  # "about three times"
NEAR_ZERO = 0.1
ERRORS_SHOWN = [("everyone", "all"), ("urgent care", "older"), ("urgent care", "younger")]
# The labels that figure 9 prints, and the sign of the difference: black people's share minus white people's.
SIGNS = {"cart": 1, "drum": 1, "helmet": 1, "cattle": 1, "face powder": -1, "maillot": -1, "person": -1, "lipstick": -1}
SINGLE = "single ratings (fairlab data fetch fairtest/recommender/movielens-1m/ratings.dat) are not read here"
AVERAGES = f"the authors' file has one row of averages per user, not the single ratings; {SINGLE}"
SMALL, NEGLIGIBLE = 0.3, 0.1  # by Cohen's conventions: "slight" or "small", "the same"
NO_CONTEXT = "the tree of this run lacks a context of the paper"
FAR_ABOVE = 3 * SIGNIFICANCE  # "far above 0.05"
FEW_HUNDREDS = 1_000  # "a few hundred" is below
TESTED, LARGER = ["adult", "berkeley", "movielens"], ["staples", "image_tagger", "healthcare"]
SMALLEST = ["berkeley", "image_tagger", "movielens"]  # those of up to 5 seconds in the paper


def effectiveness(
    exp,
    planted: pd.DataFrame,
    alarms: pd.DataFrame,
    budgets: pd.DataFrame,
    patients: Mapping[int, Sequence[Mapping]],
) -> None:
    """Record figure 5 and section 6.1.

    What the figure prints is the mean of ten trials, and so is each of the values recorded for it. Curves "never
    decrease" when no mean falls by more than the Monte Carlo error that two standard errors of a binomial count of all
    planted pairs allow. The claim on false discoveries says that none occurred beside planted pairs, and that those
    among runs without any are no more than 5%, which fails if the whole 95% interval of their share lies above.

    `patients` are studies of the health predictor in several orders, by budget; contexts are the same if the same
    attributes define them, and the claim holds if they are in more than half of the orders.
    """
    run = (planted["trial"] // TRIALS_OF_A_RUN).rename("run")
    means = planted.groupby(["delta", "size", run])["found"].mean().reset_index()
    means["point"] = [point(*pair) for pair in zip(means["delta"], means["size"], strict=True)]
    note = f"values are means of {TRIALS_OF_A_RUN} trials"
    exp.record_frame("figure-5", means, id="{point}", values="found", note=note, data=RECONSTRUCTED)
    for id in {point(delta, size) for delta in ALL_DELTAS for size in ALL_SIZES} - {*means["point"]}:
        exp.skip("figure-5", id, "not at this profile")
    n_false = int(planted["false"].sum())
    exp.claims("figure-5", _figure_5(planted), data=RECONSTRUCTED)
    significant = alarms.loc["any context significant"]
    detail = (
        f"{n_false} beside planted ones, in {len(planted)} runs; in {significant['alarms']:.0f} of "
        f"{significant['runs']:.0f} runs without any"
    )
    bounded = n_false == 0 and bool(significant["low"] <= SIGNIFICANCE)
    exp.claims("section-6.1", {"false-discoveries-bounded": (bounded, detail)}, data=RECONSTRUCTED)
    pairs = [[order["reported"] for order in pair] for pair in zip(*patients.values(), strict=True)]
    one, two = ([";".join(reported) or "everyone only" for reported in each] for each in zip(*pairs, strict=True))
    detail = f"with one test set {', '.join(dict.fromkeys(one))}; with two {', '.join(dict.fromkeys(two))}"
    no_loss = _of_most([first == second for first, second in pairs], detail, "orders")
    exp.claims("section-6.1", {"healthcare-no-loss": no_loss}, data=["health"])
    _record_budgets(exp, budgets)


def _figure_5(planted):
    found = planted.groupby(["delta", "size"])["found"].mean().unstack("size")
    steps = {"grows-with-size": found.diff(axis=1).iloc[:, 1:], "grows-with-effect": found.diff().iloc[1:]}
    falls = {id: max(0, -step.to_numpy().min(initial=0)) for id, step in steps.items()}
    claims = {id: (bool(fall <= 0), f"largest fall of a mean {fall:.1f} of ten") for id, fall in falls.items()}
    if list(found.columns) != ALL_SIZES or list(found.index) != ALL_DELTAS:
        ids = ("strong-effects-few-hundred", "weak-effects-large-contexts")
        return claims | dict.fromkeys(ids, (None, "needs all sizes and strengths"))
    strong, weak = found.loc[15, [size for size in ALL_SIZES if size >= 500]], found.loc[2.5]
    return claims | {
        "strong-effects-few-hundred": (
            bool((strong >= N_PAIRS - HALF_A_DIGIT).all()),
            f"least {strong.min():.2f} of ten",
        ),
        "weak-effects-large-contexts": (
            bool(weak[10000] > 9 and (weak.loc[:2000] < 3).all()),
            ", ".join(f"{value:.1f} at {size}" for size, value in weak.items()),
        ),
    }


def _record_budgets(exp, counts):
    columns = ["discovered", "reported"]
    several = counts.loc[counts["budget"].isin((2, 3)), ["budget", *columns]]
    if len(several):
        exp.record_frame("section-6.1", several, id="budget_{budget}.{column}", data=RECONSTRUCTED)
    for budget in {2, 3} - {*several["budget"]}:
        for column in columns:
            exp.skip("section-6.1", f"budget_{budget}.{column}", "not at this profile")
    strongest = counts.pivot(index="draw", columns="budget", values="strongest of all")
    words = "; ".join(f"{named.mode()[0]} for B={budget}" for budget, named in strongest.items())
    same = strongest.eq(strongest.iloc[:, 0], axis=0).all(axis=1)
    means = counts.groupby("budget")[columns].mean()
    falls = bool((means.diff().dropna() < 0).all(axis=None))
    listed = "; ".join(f"B={budget}: {row.discovered:.1f} and {row.reported:.1f}" for budget, row in means.iterrows())
    claims = {
        "same-top-context": _of_most(same, f"most often {words}"),
        "fewer-with-budget": (falls, f"on average {listed}"),
    }
    exp.claims("section-6.1", claims, data=RECONSTRUCTED)


def health(exp, orders: Sequence[Mapping]) -> None:
    """Record figures 7 and 8 and section 6.3.1, from studies of the patients in several orders (`health_order`).

    "About three times" is read as two to four times. "Significant" is a corrected p-value of at most 0.05. "Strongest"
    is what FairTest ranks first, by the lower bound, of everyone and of the tree's other contexts. Where urgent care is
    no context of a tree it was asked for. A claim holds if it does in more than half of the orders.
    """
    tests = {name: np.array([order["tests"][name] for order in orders]) for name in orders[0]["tests"]}
    n_in_tree = sum(order["in_tree"] for order in orders)
    asked = f"a context of the tree in {n_in_tree} of {len(orders)} orders, asked for directly in the others"
    for artefact, prefix, name, interval, note in (
        ("figure-7", "global", "everyone", "corr", ""),
        ("figure-7", "sub1", "urgent care", "corr", "" if n_in_tree == len(orders) else asked),
        ("figure-8", "global", "everyone, given confidence", "cond_corr", ""),
        ("figure-8", "low_confidence", "low confidence", "corr", ""),
        ("figure-8", "high_confidence", "high confidence", "corr", ""),
    ):
        tested = {"size": tests[name][:, 0], "p": tests[name][:, 1], interval: tests[name][:, 2:]}
        _record_all(exp, artefact, {f"{prefix}.{id}": values for id, values in tested.items()}, note=note)
    errors = np.array([[order["errors"].loc[place] for place in ERRORS_SHOWN] for order in orders])
    everyone, older, younger = errors.T
    means = {"all": everyone, "urgent_care.age_61_99": older, "urgent_care.younger": younger}
    _record_all(exp, "section-6.3.1", {f"mean_error.{id}": mean for id, mean in means.items()})
    low, high, p = ({name: test[:, column] for name, test in tests.items()} for column in (2, 3, 1))
    ends = {name: f"{name} [{low[name].mean():.4f}, {high[name].mean():.4f}]" for name in tests}
    strongest_other = np.array([max([order["tests"]["everyone"][2], *order["others"]]) for order in orders])
    ratio = older / younger
    significant = {name: (low[name] > 0) & (p[name] <= SIGNIFICANCE) for name in ("everyone", "low confidence")}
    of_orders = {
        "figure-7": {
            "error-grows-with-age": (significant["everyone"], ends["everyone"]),
            "urgent-care-strongest": (
                low["urgent care"] > strongest_other,
                f"{ends['urgent care']}; highest lower bound of everyone and other contexts "
                f"{strongest_other.mean():.4f}",
            ),
        },
        "section-6.3.1": {
            "old-worse-in-context": (
                (ratio >= THREE_TIMES[0]) & (ratio <= THREE_TIMES[1]),
                f"{ratio.mean():.2f} times the error of younger patients",
            ),
        },
        "figure-8": {
            "conditioning-weakens": (
                high["everyone, given confidence"] < low["everyone"],
                f"{ends['everyone, given confidence']}; {ends['everyone']}",
            ),
            "low-confidence-still-positive": (significant["low confidence"], ends["low confidence"]),
            "high-confidence-near-zero": (high["high confidence"] < NEAR_ZERO, ends["high confidence"]),
        },
    }
    for artefact, claims in of_orders.items():
        exp.claims(artefact, {id: _of_most(held, detail, "orders") for id, (held, detail) in claims.items()})


def image_tagger(
    exp, photos: Mapping[str, Dataset], tables: Mapping[str, pd.DataFrame], n_tested: Mapping[str, int]
) -> None:
    """Record figure 9 and section 6.3.2, all by tagger: photos, `Subgroup.labels` of everyone, and photos tested."""
    table = tables["caffe"]
    absent = {label: f"{label} is not among the {len(table)} labels" for label in SIGNS if label not in table.index}
    details, holds = dict(absent), dict.fromkeys(absent, False)
    for label, sign in SIGNS.items():
        id = label.replace(" ", "_")
        if label in absent:
            for what in ("black", "white", "diff", "p"):
                exp.skip("figure-9", f"{id}.{what}", absent[label])
            continue
        low, high, p = table.loc[label, ["low", "high", "p_value"]]
        shares = {group.lower(): round(100 * table.loc[label, group]) for group in ("Black", "White")}
        values = shares | {"diff": [low, high], "p": p}
        _record_all(exp, "figure-9", {f"{id}.{what}": value for what, value in values.items()})
        details[label] = f"{label}: [{low:.4f}, {high:.4f}], p = {p:.2g}"
        holds[label] = bool((low > 0 if sign > 0 else high < 0) and p <= SIGNIFICANCE)
    _record_all(exp, "figure-9", {"global.size": n_tested["overfeat"], "top_k": len(table)})
    claims = {
        "cattle-black": (holds["cattle"], details["cattle"]),
        "person-less-black": (holds["person"], details["person"]),
        "signs": (all(holds.values()), "; ".join(details[label] for label in SIGNS)),
    }
    exp.claims("figure-9", claims)
    labels, races = photos["caffe"].features, photos["overfeat"].target.value_counts()
    images = {f"images.{race.lower()}": n for race, n in races.items()}
    numbers = {"labels_per_image": labels.sum(axis=1).max(), "tags": labels.shape[1]}
    _record_all(exp, "section-6.3.2", images | numbers)


def recommender(
    exp,
    rating: Mapping[str, Association],
    movie_age: Mapping[str, Association],
    error: Mapping[str, Association],
    genres: Mapping[str, pd.DataFrame],
    *,
    n_users: int,
) -> None:
    """Record figure 12 and appendix A.2, from associations among everybody by sensitive feature.

    Figure 12 has no numbers. Correlations are read by Cohen's conventions: "slight" or "small" if the whole corrected
    interval lies within ±0.3, "the same" if within ±0.1. Where the paper says "slight" or names genres, a direction is
    that of the middle of the interval; where it says that something is larger, 0 lies outside of the interval. `genres`
    are `Subgroup.labels` by ``gender`` and by ``generation``.
    """
    older = bool(movie_age["age"].low > 0 and rating["age"].low > 0)
    slight = all(_direction(error[name]) < 0 and _within(error[name], SMALL) for name in ("gender", "age"))
    claims = {
        "women-less-popular": (
            _direction(rating["gender"]) > 0 and _within(rating["gender"], SMALL),
            {f"gender, {RATING}": rating["gender"]},
        ),
        "women-same-period": (_within(movie_age["gender"], NEGLIGIBLE), {f"gender, {MOVIE_AGE}": movie_age["gender"]}),
        "older-users-older-and-higher-rated": (
            older,
            {f"age, {MOVIE_AGE}": movie_age["age"], f"age, {RATING}": rating["age"]},
        ),
        "error-small": (slight, {f"{name}, {ERROR}": error[name] for name in ("gender", "age")}),
    }
    judged = {
        id: (holds, "; ".join(f"{name}: [{a.low:.3f}, {a.high:.3f}]" for name, a in rests_on.items()))
        for id, (holds, rests_on) in claims.items()
    }
    exp.claims("figure-12", judged)
    by_gender, by_generation = genres["gender"], genres["generation"]
    no_genres = f"the authors' file has no ratings by genre, only averages by user; {SINGLE}"
    claims = {
        "women-genres": _of_genres(by_gender, more=["Romance", "Musical", "Children's"]),
        "men-genres": _of_genres(by_gender, fewer=["Action", "Thriller", "War"]),
        "older-war": _of_genres(by_generation, more=["War"], fewer=["Action", "Crime"]),
        "war-high-rated": (None, no_genres),
    }
    exp.claims("appendix-a.2", claims)
    exp.record("appendix-a.2", "users", n_users)
    for id in ("movies", "ratings", "min_ratings_per_user", "test_ratings_per_user"):
        exp.skip("appendix-a.2", id, AVERAGES)


def _record_all(exp, artefact, values: Mapping, *, note: str = "") -> None:
    """Record numbers and intervals by their ids."""
    for id, value in values.items():
        exp.record(artefact, id, value, note=note)


def _direction(interval) -> float:
    """Return the sign of the middle of an interval, which for differences and correlations is that of the estimate."""
    return np.sign(interval.low + interval.high)


def _within(association, bound):
    """Return whether an interval lies between -bound and bound."""
    return -bound < association.low and association.high < bound


def _of_genres(table, *, more=(), fewer=()):
    """Judge whether the first group gets some genres more often and others less often."""
    if missing := [name for name in (*more, *fewer) if name not in table.index]:
        return None, f"no differences between users of this run in {', '.join(missing)}"
    rows = table.loc[[*more, *fewer]]
    directions = _direction(rows)
    holds = (directions[list(more)] > 0).all() and (directions[list(fewer)] < 0).all()
    return bool(holds), "; ".join(f"{name} [{row['low']:.3f}, {row['high']:.3f}]" for name, row in rows.iterrows())


def adult(exp, report: AssociationReport) -> None:
    """Record figure 10 and section 6.3.3, from the report on income by sex and by race.

    Of the five races the paper prints three, and its statement about black people is checked among these.
    """
    sections = {key: report.section(name) for key, name in contexts.ADULT_PROTECTED.items()}
    found = {key: contexts.find_shown(section, contexts.ADULT[key]) for key, section in sections.items()}
    for key, shown in contexts.ADULT.items():
        ids = {"outputs": contexts.ADULT_OUTPUTS, "groups": contexts.ADULT_GROUPS[key]}
        for name, finding in found[key].items():
            for id, value in contexts.context_values(finding.association(), f"{key}.{name}", "nmi", **ids).items():
                quiet = id.endswith(".p") and not finding.is_significant
                exp.record("figure-10", id, value, note="not significant in this run" if quiet else "")
        for name in shown.keys() - found[key].keys():
            for id in exp.published("figure-10").filter(like=f"{key}.{name}.", axis=0).index:
                exp.skip("figure-10", id, f"the tree of this run has no context {', '.join(shown[name])}")
    everyone = [sections[key].everyone.sample.shares().loc["<=50K"] for key in ("race", "gender")]
    low_income = pd.concat(everyone).drop("Total")
    groups = {"women": "Female", "men": "Male", **contexts.ADULT_GROUPS["race"]}
    of_group = {f"low_income_share.{name}": 100 * low_income[group] for name, group in groups.items()}
    _record_all(exp, "section-6.3.3", of_group)
    smallest = min(finding.size for section in report.sections for finding in section.reported)
    small = {"small-context-found": (smallest < FEW_HUNDREDS, f"smallest reported: {smallest:,}")}
    exp.claims("figure-10", _figure_10(found) | small)


def _figure_10(found):
    complete = {key: len(found[key]) == len(contexts.ADULT[key]) for key in found}
    claims = {"contexts-stronger-than-root": (None, NO_CONTEXT)}
    if all(complete.values()):
        lows = {key: {name: one.association().low for name, one in shown.items()} for key, shown in found.items()}
        holds = all(low > shown["global"] for shown in lows.values() for name, low in shown.items() if name != "global")
        words = (f"{key} {name} {low:.4f}" for key, shown in lows.items() for name, low in shown.items())
        claims["contexts-stronger-than-root"] = holds, "; ".join(words)
    for key, id, group in (("race", "black-disfavoured", "Black"), ("gender", "women-disfavoured", "Female")):
        claims[id] = None, NO_CONTEXT
        if complete[key]:
            low_income = pd.DataFrame({name: one.sample.shares().loc["<=50K"] for name, one in found[key].items()})
            printed = low_income.loc[list(contexts.ADULT_GROUPS[key].values())]
            words = (f"{name} {g} {share:.0%}" for name, column in printed.items() for g, share in column.items())
            claims[id] = bool((printed.idxmax() == group).all()), "; ".join(words)
    return claims


def berkeley(exp, finding: Subgroup, *, n_applicants: int) -> None:
    """Record figure 4 and section 4.6, from the test of everyone given the department.

    "Far above 0.05" is read as at least three times as much, "high" as above 0.05.
    """
    whole, *departments = finding.associations
    _record_all(exp, "figure-4", contexts.berkeley_values(finding))
    p_values = {association.part: association.p_value for association in departments}
    below = [part for part, p_value in p_values.items() if p_value < SIGNIFICANCE]
    rates = finding.association("department: A").sample.shares().loc["Yes"]
    high = {part: p_value for part, p_value in p_values.items() if part[-1] in "CDEF"}
    claims = {
        "conditional-not-significant": (
            whole.p_value > FAR_ABOVE and whole.low < 0 < whole.high,
            f"p = {whole.p_value:.3f}, interval [{whole.low:.4f}, {whole.high:.4f}]",
        ),
        "only-department-a": (below == ["department: A"], f"below 0.05: {', '.join(below) or 'none'}"),
        "department-a-favours-women": (
            rates["Female"] > rates["Male"],
            f"admitted: {rates['Female']:.0%} of women, {rates['Male']:.0%} of men",
        ),
        "departments-c-to-f-high-p": (
            min(high.values()) > FAR_ABOVE,
            ", ".join(f"{part}: {p:.2f}" for part, p in high.items()),
        ),
    }
    exp.claims("figure-4", claims)
    table = finding.sample.counts()
    shares = 100 * table.loc["Yes"] / table.loc["Total"]
    admitted = {f"admitted_share.{gender.lower()}": shares[gender] for gender in ("Female", "Male")}
    _record_all(exp, "section-4.6", {"applicants": n_applicants, **admitted, "conditional.p": whole.p_value})
    against_women = [a.part for a in departments if a.p_value < SIGNIFICANCE and a.high < 0]
    detail = (
        f"admitted: {shares['Female']:.0f}% of women, {shares['Male']:.0f}% of men; significant disadvantage in "
        f"{', '.join(against_women) or 'no department'}"
    )
    exp.claims("section-4.6", {"simpson": (shares["Female"] < shares["Male"] and not against_women, detail)})


def staples(exp, draws: Mapping[str, Sequence[dict]], as_they_are: Association) -> None:
    """Record figures 2 and 11 and appendix A.1, from draws by reading of the price.

    Thresholds: NMI is "close to zero" if its interval ends below 0.001, proportions are "roughly similar" less than
    one percentage point apart; an association is "stronger" when the lower bound of its interval is higher, which
    is what FairTest ranks by, and "much stronger" when the two intervals are apart. The claim on the most affected
    group is on all eight groups of the census, of which the paper prints five. A claim holds if it does in more than
    half of the draws. `as_they_are` is of price and income among public shoppers.
    """
    for reading, several in draws.items():
        for artefact in contexts.STAPLES:
            known = exp.specification.published.artefact(artefact).values
            for id, values in values_over_draws(several, artefact).items():
                there = np.isfinite(values.reshape(len(values), -1)).all(axis=1)
                if id in known and not there.any() and reading == "as_published":
                    exp.skip(artefact, id, "the context has nobody of the group")
                elif id in known and there.any():
                    note = _asked(several, artefact, id.split(".")[0]) if id.endswith((".p", ".nmi")) else ""
                    exp.record(artefact, id, values[there], reading=reading, note=note, data=RECONSTRUCTED)
        race = values_over_draws(several, "figure-11")
        share, average = race["global.high.american_indian.pct"], race["global.high.total.pct"]
        numbers = {"high_price_share": share, "ratio_to_average": share / average}
        numbers["share_of_users_upper_bound"] = 100 * race["global.total.american_indian"] / race["global.size"]
        exp.record_frame(
            "appendix-a.1", pd.DataFrame(numbers), id="native.{column}", reading=reading, data=RECONSTRUCTED
        )
    judged = draws["as_published"]
    exp.claims("figure-2", _figure_2(judged, as_they_are), data=RECONSTRUCTED)
    exp.claims("figure-11", _figure_11(judged), data=RECONSTRUCTED)


def _figure_2(draws, as_they_are):
    values = values_over_draws(draws, "figure-2")
    low, high = ({name: values[f"{name}.nmi"][:, end] for name in ("global", "sub1", "sub2")} for end in (0, 1))
    shares = {name: [values[f"{name}.high.{income}_income.pct"] for income in ("low", "high")] for name in low}
    apart = np.abs(shares["global"][0] - shares["global"][1])
    pays_more = [
        (shares[name][0] > shares[name][1]) & (values[f"{name}.p"] <= SIGNIFICANCE) for name in ("sub1", "sub2")
    ]
    return {
        "global-effect-tiny": _of_most(
            (high["global"] < 0.001) & (apart < 1),
            f"NMI up to {high['global'].mean():.5f}, proportions {apart.mean():.1f} points apart; "
            f"shoppers as they are: up to {as_they_are.high:.5f}, p = {as_they_are.p_value:.2g}",
        ),
        "zoom-in-grows": _of_most(
            (low["sub1"] > high["global"]) & (low["sub2"] > low["global"]),
            f"lower bounds {low['sub1'].mean():.5f} and {low['sub2'].mean():.5f} against the interval "
            f"[{low['global'].mean():.5f}, {high['global'].mean():.5f}] of everyone",
        ),
        "lower-income-pays-more": _of_most(
            np.all(pays_more, axis=0),
            "; ".join(
                f"{low.mean():.1f}% and {high.mean():.1f}%, p = {np.median(values[f'{name}.p']):.2g}"
                for name, (low, high) in shares.items()
                if name != "global"
            ),
        ),
    }


def _figure_11(draws):
    values = values_over_draws(draws, "figure-11")
    share = pd.DataFrame([draw["high_prices"] for draw in draws])
    ranking = share.mean().sort_values(ascending=False)
    most = {group: values[f"sub1.high.{group}.pct"] for group in ("white", "american_indian")}
    others = np.max([values[f"sub1.high.{group}.pct"] for group in ("asian", "black", "hispanic")], axis=0)
    women, men = (values[f"{name}.nmi"][:, 0] for name in ("sub1", "men"))
    return {
        "native-most-affected": _of_most(
            share.idxmax(axis=1) == contexts.NATIVE,
            "; ".join(f"{contexts.short(group)} {mean:.1f}%" for group, mean in ranking.head(3).items()),
        ),
        "white-affected-in-ny": _of_most(
            np.min(list(most.values()), axis=0) > others,
            ", ".join(f"{group} {pd.Series(shares).mean():.1f}%" for group, shares in most.items())
            + f", at most {others.mean():.1f}% of the other groups that the figure shows",
        ),
        "women-stronger-than-men": _of_most(
            women > men, f"lower bounds on average {women.mean():.4f} and {men.mean():.4f}"
        ),
    }


def _of_most(held, detail: str, repeats: str = "draws") -> tuple[bool, str]:
    """Judge that a claim holds if it does in more than half of the repeats; say in how many."""
    held = np.asarray(held, dtype=bool)
    return bool(held.mean() > 0.5), f"in {held.sum()} of {len(held)} {repeats}; {detail}"


def _asked(draws, artefact, name) -> str:
    n = sum(draw["in_tree"][f"{artefact} {name}"] for draw in draws)
    if n == len(draws):
        return ""
    return f"the trees of {n} of {len(draws)} draws have it; asked for directly in the others"


def overview(
    exp,
    ours: pd.DataFrame,
    staples_race: tuple[bool | None, str],
    *,
    data: Mapping[str, Dataset],
    defaults: pd.DataFrame,
    repeated: Mapping[str, pd.DataFrame],
) -> None:
    """Record section 4.5, table 2 by study, and section 6.3.

    `defaults` are those of `fairlab.papers.fairtest.studies.parameters_used`; `repeated` are counts of studies in
    several draws of shoppers, or orders of patients.
    """
    exp.record_frame("section-4.5", defaults, id="{column}", data=[])
    for name, row in ours.iterrows():
        for column, value in row.items():
            values = repeated.get(name, {}).get(column, value)
            exp.record("table-2", f"{name}.{column}", values, data=[data[name].name])
    for column in ("users", "attributes"):
        exp.record("table-2", f"microbenchmark.{column}", ours.loc["staples", column], data=RECONSTRUCTED)
    exp.claims("section-6.3", {"staples-race": staples_race}, data=[data["staples"].name])


def performance(exp, seconds: pd.DataFrame, *, data: Mapping[str, Dataset]) -> None:
    """Record figure 6 and section 6.2, from seconds by study.

    "Most of the time" means more than half. Training takes "proportionally more" of the studies with larger contexts if
    its share is higher there in each than in any of the others; one that is not decides, whatever the rest.
    """
    total = seconds.sum(axis=1)
    share = 100 * seconds.div(total, axis=0)
    for name in seconds.index:
        variant = [data[name].name]
        exp.record("figure-6", f"{name}.total", total[name], data=variant)
        for part in seconds:
            exp.record("figure-6", f"{name}.{part}_share", share.loc[name, part], data=variant)
    most = share.loc[TESTED, "train"].max()
    against = [name for name in LARGER if share.loc[name, "train"] <= most][:1]
    for id, names, part, holds in (
        ("testing-dominates-small", TESTED, "test", (share.loc[TESTED, "test"] > 50).all()),
        ("training-heavier-large", (against or LARGER) + TESTED, "train", not against),
    ):
        shares = "; ".join(f"{TITLES[name]} {share.loc[name, part]:.0f}%" for name in names)
        exp.claims("figure-6", {id: (holds, f"{part}ing: {shares}")}, data=[data[name].name for name in names])
    variants = [data[name].name for name in SMALLEST]
    for end, value in (("least", total[SMALLEST].min()), ("most", total[SMALLEST].max())):
        exp.record("section-6.2", f"smallest_datasets.{end}", value, data=variants)
    exp.record("section-6.2", "resampled.most_users", EXACT_LIMIT, data=[])
    exp.record("section-6.2", "staples.total", total["staples"], data=RECONSTRUCTED)
    slowest, largest = total.idxmax(), max(data, key=lambda name: len(data[name].features))
    factor = total[slowest] / total.drop(slowest).max()
    detail = f"slowest is {TITLES[slowest]}, {factor:.1f} times the next"
    # That another study is slower is decided by the two, on whichever data the others are.
    decides = None if slowest == largest else [data[name].name for name in (slowest, largest)]
    exp.claims("section-6.2", {"staples-slowest": (slowest == largest, detail)}, data=decides)

"""Whether what the paper says in words holds of our results, experiment by experiment.

A claim about learnt maps must hold on every usable one. The limits that stand for the paper's words are set here. Each
function returns, by artefact and id, whether the claim holds and the numbers that it rests on: what
`fairlab.Experiment.claims` takes. A claim whose flipset is empty under some map is neither true nor false, but None.
"""

import numpy as np
import pandas as pd

from fairlab.papers.fliptest.law_students import TESTED
from fairlab.papers.fliptest.strategic_subjects import LABELS

# Cohen's large and small difference, in standard deviations: "much", "far more"; "little", "near zero".
LARGE, SMALL = 0.8, 0.2
CLOSE = 0.25  # "close", "a similar amount", "about 3%": what the verdicts call near
HUNDREDS = 100  # "hundreds of times"
OVERLAP = 0.75  # histograms that share this much "largely overlap"
MAIN = 3  # "main", "among the most consistent": a place among the first three
THREE_PERCENT = 0.03
WELL_BELOW = 0.5  # of a variance
NEAR_ONE = 0.1  # from the all-ones point: not pulled

EMPTY = "a flipset is empty under some map"
EMPTY_PLUS = "F+ is empty under some map"
EMPTY_PLUS_ALWAYS = "F+ is empty under every map"


def sizes(flips, sign: str) -> np.ndarray:
    """Return the size of F+ (``positive``) or F- (``negative``), one value per map."""
    return np.array([getattr(flip, f"n_{sign}") for flip in flips.values()])


def changes(reports, sign: str, feature: str) -> np.ndarray:
    """Return the mean of x - G(x) in one flipset, one value per map; not a number for an empty one."""
    return np.array([getattr(report, sign).loc[feature, "mean_difference"] for report in reports.values()])


def law_school(*, shift, members, report, weights) -> dict:
    """Judge section 5.4 and figures 6, 7 and 12."""
    causal, gan = shift["counterfactual"], shift["GAN"]
    up = bool(min(causal, gan) > 0 and abs(gan / causal - 1) <= CLOSE)
    means = members.groupby("map")[[f"mean {score} in F−" for score in TESTED]].mean().loc[["GAN", "counterfactual"]]
    in_words = "; ".join(
        f"{column}: GAN {values['GAN']:.2f}, counterfactual {values['counterfactual']:.2f}"
        for column, values in means.items()
    )
    higher = (means.loc["GAN"] > means.loc["counterfactual"]).all()
    report = report[["counterfactual", "GAN"]]
    size = report.abs()
    above = (size.loc["LSAT"] > np.maximum(size.loc["GPA"], 1)).all() and (size.loc["male"] < SMALL).all()
    of_report = "; ".join(f"{name}: " + ", ".join(f"{k} {v:.2f}" for k, v in report[name].items()) for name in report)
    weight, scaled = weights["weight"], weights["weight per standard deviation"]
    of_race = f"black {weight['black']:.3f}, white {weight['white']:.3f}"
    of_scores = f"per standard deviation: LSAT {scaled['LSAT']:.3f}, GPA {scaled['GPA']:.3f}"
    shifted = f"mean shift {causal:.2f} (causal) and {gan:.2f} (GAN) standard deviations"
    return {
        "figure-6": {"both-shift-up": (up, shifted)},
        "figure-7": {"gan-flipset-higher-scores": _finite(means, higher, in_words)},
        "section-5.4": {
            "race-has-weight": (bool(weight["black"] < 0 < weight["white"]), of_race),
            "lsat-weighs-more": (bool(scaled["LSAT"] > scaled["GPA"]), of_scores),
        },
        "figure-12": {"lsat-above-gpa": _finite(report, above, of_report)},
    }


def arrests(*, subgroups, flips) -> dict:
    """Judge section 5.5."""
    everyone, others = subgroups.iloc[0], subgroups.iloc[1:]
    listed = "; ".join(f"{row['subgroup']} {row['correlation']:.3f}" for _, row in others.iterrows())
    weaker = bool((others["correlation"].abs() <= everyone["correlation"]).all())
    share = flips["share with more arrests"].dropna()
    all_have_more = None, EMPTY_PLUS_ALWAYS
    if len(share):
        detail = f"share of F+ with more arrests: {share.min():.4f} to {share.max():.4f} over {len(share)} maps"
        all_have_more = bool((share == 1).all()), detail
    of_subgroups = f"everyone {everyone['correlation']:.3f}; {listed or 'no subgroup found'}"
    weaken = {"subgroups-weaken-correlation": (weaker, of_subgroups)}
    return {"section-5.5": weaken | {"all-have-more-arrests": all_have_more}}


def gan_validation(*, counts, n_points) -> dict:
    """Judge section 5.1: flipsets are "of similar size", and make up "about 3%", within `CLOSE`."""
    plus, minus = counts["F+"].mean(), counts["F−"].mean()
    together = (plus + minus) / n_points
    holds = abs(together / THREE_PERCENT - 1) <= CLOSE and min(plus, minus) >= (1 - CLOSE) * max(plus, minus)
    detail = f"together {together:.1%} of the points; mean F+ {plus:.0f}, F− {minus:.0f}"
    return {"section-5.1": {"flipsets-near-three-percent": (bool(holds), detail)}}


def ssl_parity(*, people, gangs, flips, reports, proxies, proxy_flips, proxy_reports) -> dict:
    """Judge section 5.2.1 and figures 3 and 9."""
    positive, negative = (sizes(flips, sign) for sign in ("positive", "negative"))
    ratio = positive.mean() / max(negative.mean(), 1)
    first = younger = more = overlaps = lead = None, EMPTY_PLUS
    if (positive > 0).all():
        first = set().union(*_leaders(reports).values()) == {"narcotics_arrests"}, _format_leaders(reports)
        younger, more = (
            _beyond(flips, people[feature], factor) for feature, factor in (("age", -1), ("narcotics_arrests", 1))
        )
        shared = 1 - np.abs(_member_means(flips, "positive", gangs) - gangs.mean())
        detail = f"histograms share {shared.min():.0%} to {shared.max():.0%}"
        overlaps = bool((shared >= OVERLAP).all()), detail
    if (sizes(proxy_flips, "positive") > 0).all():
        leads = all(set(leaders) <= set(proxies.proxies) for leaders in _leaders(proxy_reports).values())
        lead = leads, f"proxies {', '.join(proxies.proxies)}; {_format_leaders(proxy_reports)}"
    asymmetric = bool(ratio >= HUNDREDS), f"mean F+ over mean F−: {ratio:.0f}"
    return {
        "section-5.2.1": {"asymmetric": asymmetric, "transparency-names-narcotics": first},
        "figure-3": {
            "flipset-is-younger": younger,
            "flipset-more-narcotics": more,
            "gang-marginal-overlaps": overlaps,
        },
        "figure-9": {"proxies-lead-report": lead},
    }


def fairtest_on_ssl(*, section, rates) -> dict:
    """Judge what FairTest says of the same classifier."""
    by_narcotics = [
        finding
        for finding in section.reported[1:]
        if any(condition.attribute == "narcotics_arrests" for condition in finding.node.conditions)
    ]
    holds = bool(section.everyone.is_significant and rates["BLK"] > rates["WHI"] and not by_narcotics)
    detail = (
        f"at high risk: {rates['BLK']:.1%} of black people, {rates['WHI']:.1%} of white ones; subgroups reported: "
        f"{len(section.reported) - 1}, by narcotics arrests: {len(by_narcotics)}"
    )
    return {"section-5.5-ssl": {"no-narcotics-context": (holds, detail)}}


def ssl_odds(*, black_negatives, flips, reports) -> dict:
    """Judge section 5.2.2 and figures 4 and 11."""
    negatives, positives = ((flips[truth], reports[truth]) for truth in ("negatives", "positives"))
    narcotics, age = ("positive", "narcotics_arrests"), ("negative", "age")
    first = _by_ranks(*negatives, *narcotics, lambda ranks, signs: (ranks == 1).all())
    among = _by_ranks(*positives, *narcotics, lambda ranks, signs: (ranks <= MAIN).all())
    named = _by_ranks(*positives, *age, lambda ranks, signs: (ranks[:, 1] <= MAIN).all() and min(signs) > 0)
    leads = _by_ranks(*positives, *age, lambda ranks, signs: (ranks[:, 1] == 1).all())
    return {
        "figure-4": {"younger-more-narcotics-more-gang": _profile_of_negatives(black_negatives, flips["negatives"])},
        "section-5.2.2": {
            "negatives-name-narcotics": first,
            "positives-name-narcotics": among,
            "positives-minus-name-age": named,
        },
        "figure-11": {"age-leads-f-minus": leads},
    }


def overview(*, models) -> dict:
    """Judge proposition 2."""
    balanced, parity = models["F+"] == models["F−"], models["more positives"] == 0
    detail = f"of {len(models)} models {parity.sum()} have equal rates and {balanced.sum()} balanced flipsets"
    return {"proposition-2": {"balance-is-demographic-parity": (bool((balanced == parity).all()), detail)}}


def stability(*, intervals) -> dict:
    """Judge figure 2: variances by their median over coordinates, at every dimension.

    The exact map "pulls" if its mean falls with every step up in dimension and its interval ends below 1 at the
    highest; the GAN does not if its mean stays within `NEAR_ONE` of 1.
    """
    value = intervals["value"].unstack("quantity")
    independent, correlated = intervals.index.unique("features")
    variance, exact, gan, pulled = {}, {}, {}, {}
    for title in (independent, correlated):
        variance[title] = value["variance"].xs(title, level="features").unstack("map")
        exact[title], gan[title] = (
            value["mean"].xs((name, title), level=("map", "features")).sort_index() for name in ("exact", "GAN")
        )
        high = intervals.loc[("exact", title, exact[title].index[-1], "mean"), "high"]
        stays = ((gan[title] - 1).abs() <= NEAR_ONE).all()
        pulled[title] = bool(exact[title].is_monotonic_decreasing and high < 1 and stays)
    over_exact = {title: table["GAN"] / table["exact"] for title, table in variance.items()}
    over_seguy = variance[independent]["GAN"] / variance[independent]["Seguy et al."]
    below = {title: bool((ratios <= WELL_BELOW).all()) for title, ratios in over_exact.items()}
    ratios = {title: f"GAN over exact: {_by_dimension(numbers)}" for title, numbers in over_exact.items()}
    means = {title: f"exact {_by_dimension(exact[title])}; GAN {_by_dimension(gan[title])}" for title in exact}
    found = {
        "gan-variance-below-exact": (below[independent], ratios[independent]),
        "gan-variance-below-seguy": (
            bool((over_seguy < 1).all()),
            f"GAN over Seguy et al.: {_by_dimension(over_seguy)}",
        ),
        "exact-regresses-to-mean": (pulled[independent], means[independent]),
        "correlated-features-same": (
            below[correlated] and pulled[correlated],
            f"{ratios[correlated]}; {means[correlated]}",
        ),
    }
    return {"figure-2": found}


def _profile_of_negatives(black, flips):
    if not (sizes(flips, "positive") > 0).all():
        return None, EMPTY
    change = {name: _member_means(flips, "positive", black[name]) - black[name].mean() for name in LABELS}
    others = ["shooting_victim", "assault_victim", "violent_arrests", "weapons_arrests"]
    holds = (
        (change["age"] < 0).all()
        and (change["narcotics_arrests"] >= LARGE).all()
        and (change["gang_affiliation"] > SMALL).all()
        and (change["crime_trend"] < 0).all()
        and all((np.abs(change[name]) <= SMALL).all() for name in others)
    )
    detail = ", ".join(f"{LABELS[name]} {values.mean():.2f}" for name, values in change.items())
    return bool(holds), f"F+ minus all, in sd: {detail}"


def _by_ranks(flips, reports, sign, feature, holds):
    """Judge a feature's places by change and by sign, shape (n_maps, 2), and its mean signs."""
    if not (sizes(flips, sign) > 0).all():
        return None, EMPTY
    rows = [getattr(report, sign).loc[feature] for report in reports.values()]
    ranks = np.array([[row["difference_rank"], row["sign_rank"]] for row in rows], dtype=float)
    places = ", ".join(f"{change:.0f}/{of_sign:.0f}" for change, of_sign in ranks)
    detail = f"{LABELS[feature]}: place by change and sign {places}"
    return bool(holds(ranks, [row["mean_sign"] for row in rows])), detail


def _beyond(flips, feature, factor):
    """Judge whether members of F+ have less (-1) or more (1) of a feature than everyone."""
    members, everyone = _member_means(flips, "positive", feature), feature.mean()
    detail = f"F+ {members.min():.2f} to {members.max():.2f} sd over {len(members)} maps, all {everyone:.2f}"
    return bool((factor * (members - everyone) > 0).all()), detail


def _finite(values, holds, detail):
    """Return the claim, or one that says nothing if a value is missing, as the mean over an empty flipset is."""
    return (bool(holds), detail) if np.isfinite(values).all(axis=None) else (None, EMPTY)


def _member_means(flips, sign, feature: pd.Series) -> np.ndarray:
    """Return the mean of a feature in one flipset, one value per map."""
    return np.array([feature[getattr(flip, sign)].mean() for flip in flips.values()])


def _leaders(reports) -> dict[str, list[str]]:
    """Return, for both rankings of F+, the feature that leads it, one per map."""
    return {
        ranking: [report.positive[f"{ranking}_rank"].astype(float).idxmin() for report in reports.values()]
        for ranking in ("difference", "sign")
    }


def _format_leaders(reports) -> str:
    return "; ".join(f"first by {ranking}: {', '.join(names)}" for ranking, names in _leaders(reports).items())


def _by_dimension(numbers: pd.Series) -> str:
    return ", ".join(f"{number:.2f} (d={dimension})" for dimension, number in numbers.items())

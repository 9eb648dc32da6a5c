"""What FlipTest's experiments record: our side of every published number, and of every claim.

One function per experiment, of its name; `flips` and `reports` are flipsets and transparency reports by usable map,
`note` says which maps were left out.
"""

import pandas as pd

from fairlab.papers.fliptest import claims
from fairlab.papers.fliptest.claims import EMPTY_PLUS_ALWAYS, sizes
from fairlab.papers.fliptest.ensembles import SIGNS
from fairlab.papers.fliptest.strategic_subjects import TEST_SHARE, high_risk_people


def law_school(exp, *, flips, shift, members, report, weights, note) -> None:
    """Record section 5.4 and figures 6, 7 and 12.

    Parameters
    ----------
    flips : dict by map and trial
    shift : Series
        Mean shift of the predictions by map.
    members, report : DataFrame
        Mean scores of flipsets, and mean differences in F-.
    weights : DataFrame
        Of the regression, as they are (``weight``) and per standard deviation (``weight per standard deviation``).
    """
    for key, name, remark in (("counterfactual", "counterfactual", ""), ("gan", "GAN", note)):
        several = {trial: flip for (of_map, trial), flip in flips.items() if of_map == name}
        exp.record_frame("figure-7", _sizes(several), id=f"{key}.{{column}}", note=remark)
    _claim(exp, claims.law_school(shift=shift, members=members, report=report, weights=weights))


def arrests(exp, *, subgroups, flips, note) -> None:
    """Record section 5.5; FairTest's subgroups, and the published quantities by usable GAN map."""
    exp.record("section-5.5", "fairtest.correlation", subgroups.loc[0, ["low", "high"]].astype(float))
    columns = {"F+": "f_plus", "F−": "f_minus"}
    columns |= {name: name.replace(" ", "_") for name in ("share with more arrests", "mean difference")}
    for column, id in columns.items():
        exp.record_frame("section-5.5", flips[[column]].dropna(), id=f"fliptest.{id}", values=column, note=note)
        if flips[column].isna().all():
            exp.skip("section-5.5", f"fliptest.{id}", EMPTY_PLUS_ALWAYS)
    _claim(exp, claims.arrests(subgroups=subgroups, flips=flips))


def gan_validation(exp, *, counts, n_points, note, blocks, one_regression) -> None:
    """Record section 5.1 and table 1; blocks by name in the table, and one regression for both features."""
    counted = counts.rename(columns={"F+": "f_plus", "F−": "f_minus"})[["f_plus", "f_minus"]]
    exp.record_frame("section-5.1", counted, id="{column}", note=note, data=[])
    for name, block in blocks.items():
        _record_block(exp, name, block)
    id = "lipton.work_experience.mse_diff"
    exp.record("table-1", id, one_regression, reading="as_described", data=["lipton"])
    _claim(exp, claims.gan_validation(counts=counts, n_points=n_points), data=[])


def ssl_parity(exp, *, flips, note, section, rates, counts, weights, **judged) -> None:
    """Record section 5.2.1, figures 3 and 9, and what FairTest says of the same classifier.

    Of section 5.2, record what published counts of the list and the published weights of a regression on it decide.
    """
    of_counts = [counts.name]
    share = 100 * high_risk_people(counts).sum() / counts.target.sum()
    exp.record("section-5.2", "share_above_threshold", share, data=of_counts)
    of_weights = exp.stored("ols_linear.csv")
    exp.record("section-5.2", "weight.age", weights["age"], data=of_weights)
    others = weights.drop("age").abs()
    largest = f"largest {others.max():.2f}, of {others.idxmax()}"
    exp.claims("section-5.2", {"others-below-10": (others.max() < 10, largest)}, data=of_weights)
    prediction = next(iter(flips.values())).prediction
    found = _sizes(flips)
    found = found.assign(f_plus_share_of_high_risk=found["f_plus"] / prediction.sum())
    exp.record_frame("section-5.2.1", found, id="{column}", note=note)
    exp.record("section-5.2.1", "black_high_risk", prediction.sum())
    exp.record("section-5.2.1", "black_low_risk", (1 - prediction).sum())
    _claim(exp, claims.ssl_parity(flips=flips, **judged))
    _claim(exp, claims.fairtest_on_ssl(section=section, rates=rates))


def ssl_odds(exp, *, groups, flips, reports, notes, counts) -> None:
    """Record section 5.2.2 and figures 4 and 11; all by ground truth.

    Numbers of positives are the expected ones of a fifth of the list, by its published counts.
    """
    for truth, several in flips.items():
        exp.record_frame("section-5.2.2", _sizes(several), id=f"{truth}.{{column}}", note=notes[truth])
        prediction = next(iter(several.values())).prediction
        exp.record("section-5.2.2", f"{truth}.black_high_risk", prediction.sum())
    exp.record("section-5.2.2", "positives.black_low_risk", (1 - prediction).sum())  # the last are the positives
    for race in ("white", "black"):
        expected = TEST_SHARE * high_risk_people(counts)[race.title()]
        exp.record("section-5.2.2", f"positives.{race}_total", expected, data=[counts.name])
    black = groups["negatives"]["black"]
    _claim(exp, claims.ssl_odds(black_negatives=black, flips=flips, reports=reports))


def stability(exp, *, intervals) -> None:
    """Record the claims of figure 2; intervals by map, features, dimension and quantity, independent features first."""
    _claim(exp, claims.stability(intervals=intervals))


def overview(exp, *, models) -> None:
    """Record the claim of proposition 2; sizes of flipsets and how many more positives the source has, by model."""
    _claim(exp, claims.overview(models=models))


def _sizes(flips) -> pd.DataFrame:
    return pd.DataFrame({id: sizes(flips, sign) for id, sign in SIGNS.items()})


def _record_block(exp, name, block) -> None:
    """Record one block of table 1: fits of accepted maps with their spread, distances in both protocol variants."""
    used = block.to_frame().loc[list(block.ensemble.usable)]
    about = {"note": block.ensemble.note, "data": block.data}
    for feature, printed in block.listed.items():
        fit = used[[f"ks {feature}", f"mse_difference {feature}"]].set_axis(["ks", "mse_diff"], axis=1)
        fit = fit.reset_index(drop=True)
        exp.record_frame("table-1", fit, id=f"{name}.{printed}.{{column}}", **about)
        for column in fit:
            id = f"{name}.{printed}.{column}.std"
            if len(fit) > 1:
                note = "; ".join(filter(None, [f"standard deviation of {len(fit)} maps", block.ensemble.note]))
                exp.record("table-1", id, fit[column].std(), note=note, data=block.data)
            else:
                exp.skip("table-1", id, "one map has no standard deviation")
    for reading, column in (("as_published", "mean_l1"), ("as_described", "mean_squared_l1")):
        exp.record("table-1", f"{name}.distance.gan", used[column], reading=reading, **about)
        of_exact = [row[column] for row in block.exact]
        exp.record("table-1", f"{name}.distance.exact", of_exact, reading=reading, data=block.data)


def _claim(exp, found, *, data=None) -> None:
    for artefact, judged in found.items():
        exp.claims(artefact, judged, data=data)

"""What FlipTest's experiments record: our side of every published number, and of every claim.

One function per experiment, of its name.
"""

import numpy as np

from fairlab.papers.fliptest import claims
from fairlab.papers.fliptest.claims import EMPTY_PLUS_ALWAYS, Claim, changes, sizes
from fairlab.papers.fliptest.noise import PRINTED

SIGNS = {"f_plus": "positive", "f_minus": "negative"}


def lipton(exp, *, hired, coef, women, flips, reports, directions, note) -> None:
    """Record figures 1 and 5, section 5.3 and appendix D.

    Parameters
    ----------
    exp : fairlab.Experiment
    hired : DataFrame
        Hired shares; rows women and men, a column per reading.
    coef : dict of str to float
        Weights of the model that was trained, by feature.
    women : DataFrame
        Those who are mapped, in standard deviations.
    flips, reports : dict of str to dict
        Per reading, by usable map from women to men: flipsets and transparency reports.
    directions : DataFrame
        Mean sizes F+ and F−, by direction.
    note : str
        Which maps were left out.
    """
    for reading, of_reading in reports.items():
        about = {"reading": reading, "note": note}
        for gender in hired.index:
            exp.record("section-5.3", f"hired_share.{gender}", hired.loc[gender, reading], reading=reading)
        for id, sign in SIGNS.items():
            exp.record("section-5.3", f"women_to_men.{id}", sizes(flips[reading], sign), **about)
            for feature in women:
                means = changes(of_reading, sign, feature)
                means = means[np.isfinite(means)]  # an empty flipset has no mean
                if len(means):
                    exp.record("section-5.3", f"transparency.{id}.{feature}", means, **about)
                elif reading == "as_published":
                    exp.skip("section-5.3", f"transparency.{id}.{feature}", "the flipset is empty under every map")
    for feature, weight in coef.items():
        exp.record("section-5.3", f"model.weight.{feature}", weight)
    published = {"flips": flips["as_published"], "reports": reports["as_published"]}
    _claim(exp, claims.lipton(women=women, directions=directions, **published))


def law_school(exp, *, flips, shift, members, report, note) -> None:
    """Record figures 6, 7 and 12.

    Parameters
    ----------
    exp : fairlab.Experiment
    flips : dict of (str, int) to Flipset
        By map and trial.
    shift : Series
        Mean shift of the prediction under ``counterfactual`` and ``GAN``, in standard deviations.
    members : DataFrame
        What `fairlab.papers.fliptest.law_students.flipset_scores` returns.
    report : DataFrame
        Mean difference of F- from its counterparts: features by map.
    note : str
        Which GAN maps were left out.
    """
    for key, name, remark in (("counterfactual", "counterfactual", ""), ("gan", "GAN", note)):
        several = {trial: flip for (of_map, trial), flip in flips.items() if of_map == name}
        for id, sign in SIGNS.items():
            exp.record("figure-7", f"{key}.{id}", sizes(several, sign), note=remark)
    _claim(exp, claims.law_school(shift=shift, members=members, report=report))


def arrests(exp, *, subgroups, flips, note) -> None:
    """Record section 5.5.

    Parameters
    ----------
    exp : fairlab.Experiment
    subgroups : DataFrame
        What `fairlab.papers.fliptest.prior_arrests.subgroup_table` returns.
    flips : DataFrame
        The published quantities, one row per usable GAN map, with one coin per prediction and rounded images.
    note : str
        Which maps were left out.
    """
    exp.record("section-5.5", "fairtest.correlation", subgroups.loc[0, ["low", "high"]].astype(float))
    columns = {
        "f_plus": "F+",
        "f_minus": "F−",
        "share_with_more_arrests": "share with more arrests",
        "mean_difference": "mean difference",
    }
    for id, column in columns.items():
        values = flips[column].dropna()
        if len(values):
            exp.record("section-5.5", f"fliptest.{id}", values, note=note)
        else:
            exp.skip("section-5.5", f"fliptest.{id}", EMPTY_PLUS_ALWAYS)
    _claim(exp, claims.arrests(subgroups=subgroups, flips=flips))


def gan_validation(exp, *, counts, n_points, note, blocks, one_regression) -> None:
    """Record section 5.1 and table 1.

    Parameters
    ----------
    exp : fairlab.Experiment
    counts : DataFrame
        Sizes F+ and F− under the GAN, one row per trial whose map is usable.
    n_points : int
        People of either group.
    note : str
        Which of these maps were left out.
    blocks : dict of str to MapFits
        By name in the table.
    one_regression : Series
        Difference in squared error of work experience, were it predicted by the regression for hair; one per map.
    """
    for id, sign in PRINTED.items():
        exp.record("section-5.1", id, counts[sign], note=note, data=[])
    for name, block in blocks.items():
        _record_block(exp, name, block)
    id = "lipton.work_experience.mse_diff"
    exp.record("table-1", id, one_regression, reading="as_described", data=["lipton"])
    _claim(exp, claims.gan_validation(counts=counts, n_points=n_points), data=[])


def ssl_parity(exp, *, flips, note, section, rates, **judged) -> None:
    """Record section 5.2.1, figures 3, 8 and 9, and what FairTest says of the same classifier.

    Parameters
    ----------
    exp : fairlab.Experiment
    flips : dict of str to Flipset
        Of the published classifier, by usable map.
    note : str
        Which maps were left out.
    section : fairlab.fairtest.reporting.Section
        The only one of FairTest's report.
    rates : Series
        Share called high risk, by race.
    **judged
        ``people``, the black people who are mapped, in standard deviations; ``gangs``, their gang affiliation, 0 or 1;
        ``reports``, by usable map; ``proxies``, the model of several proxies, with ``proxy_flips`` and
        ``proxy_reports``.
    """
    prediction = next(iter(flips.values())).prediction
    positive, negative = (sizes(flips, sign) for sign in ("positive", "negative"))
    exp.record("section-5.2.1", "f_plus", positive, note=note)
    exp.record("section-5.2.1", "f_minus", negative, note=note)
    exp.record("section-5.2.1", "f_plus_share_of_high_risk", positive / prediction.sum(), note=note)
    exp.record("section-5.2.1", "black_high_risk", prediction.sum())
    exp.record("section-5.2.1", "black_low_risk", (1 - prediction).sum())
    _claim(exp, claims.ssl_parity(flips=flips, **judged))
    _claim(exp, claims.fairtest_on_ssl(section=section, rates=rates))


def ssl_odds(exp, *, groups, flips, reports, notes) -> None:
    """Record section 5.2.2 and figures 4, 10 and 11.

    Parameters
    ----------
    exp : fairlab.Experiment
    groups : dict of str to dict of str to DataFrame
        For the ``negatives`` and the ``positives``, the people to be tested by race.
    flips, reports : dict of str to dict
        By ground truth and usable map.
    notes : dict of str to str
        By ground truth, which maps were left out.
    """
    for truth, several in flips.items():
        for id, sign in SIGNS.items():
            exp.record("section-5.2.2", f"{truth}.{id}", sizes(several, sign), note=notes[truth])
        prediction = next(iter(several.values())).prediction
        exp.record("section-5.2.2", f"{truth}.black_high_risk", prediction.sum())
    exp.record("section-5.2.2", "positives.black_low_risk", (1 - prediction).sum())  # the last are the positives
    for race in ("white", "black"):
        exp.record("section-5.2.2", f"positives.{race}_total", len(groups["positives"][race]))
    black = groups["negatives"]["black"]
    _claim(exp, claims.ssl_odds(black_negatives=black, flips=flips, reports=reports))


def stability(exp, *, intervals) -> None:
    """Record the claims of figure 2.

    Parameters
    ----------
    exp : fairlab.Experiment
    intervals : DataFrame
        Indexed by map, features, dimension and quantity, as `fairlab.papers.fliptest.stability.stability_interval`
        returns them; independent features first.
    """
    _claim(exp, claims.stability(intervals=intervals))


def overview(exp, *, models) -> None:
    """Record the claim of proposition 2.

    Parameters
    ----------
    exp : fairlab.Experiment
    models : DataFrame
        One row per classifier: sizes ``F+`` and ``F−`` under an exact map, and how many ``more positives`` the source
        has than the target.
    """
    _claim(exp, claims.overview(models=models))


def _record_block(exp, name, block) -> None:
    """Record one block of table 1: the usable maps' fits, and the distances in both readings."""
    used = [block.fits[of_map] for of_map in block.usable]
    about = {"note": block.note, "data": block.data}
    for feature, printed in block.listed.items():
        for measure, column in (("ks", "ks"), ("mse_diff", "mse_difference")):
            values = [fit.features.loc[feature, column] for fit in used]
            exp.record("table-1", f"{name}.{printed}.{measure}", values, **about)
    for reading, column in (("as_published", "mean_l1"), ("as_described", "mean_squared_l1")):
        of_gans, of_exact = [getattr(fit, column) for fit in used], [row[column] for row in block.exact]
        exp.record("table-1", f"{name}.distance.gan", of_gans, reading=reading, **about)
        exp.record("table-1", f"{name}.distance.exact", of_exact, reading=reading, data=block.data)


def _claim(exp, found: list[Claim], *, data=None) -> None:
    for claim in found:
        if claim.holds is None:
            exp.skip(claim.artefact, claim.id, claim.detail)
        else:
            exp.claim(claim.artefact, claim.id, claim.holds, detail=claim.detail, data=data)

"""Records and claims on the shoppers that are drawn anew: figures 2 and 11, appendix A.1, and what is found of them."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from fairlab.fairtest.finding import Association
from fairlab.papers.fairtest import contexts
from fairlab.papers.fairtest.shoppers import values_over_draws

TWICE = (1.5, 2.5)  # "about twice as often"
GENERATED = ["staples-population"]


def staples(exp, draws: Mapping[str, Sequence[dict]], as_they_are: Association) -> None:
    """Record figures 2 and 11 and appendix A.1.

    Thresholds: NMI "below 0.001" is the upper bound of its interval; "about twice as often" is between 1.5 and 2.5
    times; an association is "stronger" when the lower bound of its interval is higher, which is what FairTest ranks
    by. The claim on the most affected group is on all eight groups of the census, of which the paper prints five. A
    claim holds if it does in more than half of the draws.

    Parameters
    ----------
    exp : fairlab.Experiment
    draws : dict of str to sequence of dict
        By reading of the price, what `fairlab.papers.fairtest.shoppers.drawn_shoppers` returned.
    as_they_are : Association
        Of price and income among the public shoppers.
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
                    exp.record(artefact, id, values[there], reading=reading, note=note, data=GENERATED)
        race = values_over_draws(several, "figure-11")
        share, average = race["global.high.american_indian.pct"], race["global.high.total.pct"]
        of_all = 100 * race["global.total.american_indian"] / race["global.size"]
        exp.record("appendix-a.1", "native.high_price_share", share, reading=reading, data=GENERATED)
        exp.record("appendix-a.1", "native.ratio_to_average", share / average, reading=reading, data=GENERATED)
        exp.record("appendix-a.1", "native.share_of_users_upper_bound", of_all, reading=reading, data=GENERATED)
    judged = draws["as_published"]
    _claims_of_figure_2(exp, judged, as_they_are)
    _claims_of_figure_11(exp, judged)


def _claims_of_figure_2(exp, draws, as_they_are):
    values = values_over_draws(draws, "figure-2")
    low, high = ({name: values[f"{name}.nmi"][:, end] for name in ("global", "sub1", "sub2")} for end in (0, 1))
    claim_of_most(
        exp,
        "figure-2",
        "global-effect-tiny",
        (high["global"] < 0.001) & (values["global.p"] < 1e-6),
        f"NMI up to {high['global'].mean():.5f}, p = {np.median(values['global.p']):.2g}; "
        f"shoppers as they are: up to {as_they_are.high:.5f}, p = {as_they_are.p_value:.2g}",
    )
    claim_of_most(
        exp,
        "figure-2",
        "zoom-in-grows",
        (low["sub1"] > high["global"]) & (low["sub2"] > high["global"]),
        f"lower bounds {low['sub1'].mean():.5f} and {low['sub2'].mean():.5f} against {high['global'].mean():.5f}",
    )
    shares = {name: [values[f"{name}.high.{income}_income.pct"] for income in ("low", "high")] for name in low}
    claim_of_most(
        exp,
        "figure-2",
        "lower-income-pays-more",
        np.all([shares[name][0] > shares[name][1] for name in ("sub1", "sub2")], axis=0),
        "; ".join(f"{a.mean():.1f}% and {b.mean():.1f}%" for a, b in (shares["sub1"], shares["sub2"])),
    )
    lows = [draw["reported_effects"]["income"][1:] for draw in draws]
    listed = f"{np.mean([len(several) for several in lows]):.1f} contexts are listed"
    claim_of_most(exp, "figure-2", "sorted", [bool((np.diff(several) <= 0).all()) for several in lows], listed)


def _claims_of_figure_11(exp, draws):
    values = values_over_draws(draws, "figure-11")
    share = pd.DataFrame([draw["high_prices"] for draw in draws])
    ranking = share.mean().sort_values(ascending=False)
    claim_of_most(
        exp,
        "figure-11",
        "native-most-affected",
        share.idxmax(axis=1) == contexts.NATIVE,
        "; ".join(f"{contexts.short(group)} {mean:.1f}%" for group, mean in ranking.head(3).items()),
    )
    white, everyone = values["sub1.high.white.pct"], values["sub1.high.total.pct"]
    claim_of_most(
        exp,
        "figure-11",
        "white-affected-in-ny",
        (white >= TWICE[0] * everyone) & (white <= TWICE[1] * everyone),
        f"white {white.mean():.1f}%, all {everyone.mean():.1f}%",
    )
    women, men = (values[f"{name}.nmi"][:, 0] for name in ("sub1", "men"))
    bounds = f"lower bounds on average {women.mean():.4f} and {men.mean():.4f}"
    claim_of_most(exp, "figure-11", "women-stronger-than-men", women > men, bounds)
    part = 100 * values["global.total.american_indian"] / values["global.size"]
    tested = f"{part.mean():.2f}% of the shoppers tested"
    claim_of_most(exp, "appendix-a.1", "native-small-minority", part < 1, tested)


def claim_of_most(exp, artefact: str, id: str, held, detail: str) -> None:
    """Record a claim that holds if it does in more than half of the draws; say in how many.

    Parameters
    ----------
    exp : fairlab.Experiment
    artefact, id, detail : str
    held : sequence of bool
        One for each draw.
    """
    held = np.asarray(held, dtype=bool)
    words = f"in {held.sum()} of {len(held)} draws; {detail}"
    exp.claim(artefact, id, bool(held.mean() > 0.5), detail=words, data=GENERATED)


def _asked(draws, artefact, name) -> str:
    n = sum(draw["in_tree"][f"{artefact} {name}"] for draw in draws)
    return (
        "" if n == len(draws) else f"the trees of {n} of {len(draws)} draws have it; asked for directly in the others"
    )

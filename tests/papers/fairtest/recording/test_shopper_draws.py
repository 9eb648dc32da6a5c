import numpy as np
import pytest

from fairlab.fairtest.finding import Association
from fairlab.papers.fairtest import contexts, recording
from fairlab.papers.fairtest.recording.shopper_draws import claim_of_most
from fairlab.papers.fairtest.shoppers import drawn_shoppers
from fairlab.seeds import Trial

QUIET = Association(None, 0.0, 0.0012, 0.2, 0.2)


@pytest.fixture(scope="module")
def draw():
    return drawn_shoppers(Trial("fairtest", 0), n_users=40_000)


def changed(draw, **values):
    """Return a draw with other numbers of the figures."""
    figures = {artefact: dict(numbers) for artefact, numbers in draw["values"].items()}
    for id, value in values.items():
        for numbers in figures.values():
            if id.replace("__", ".") in numbers:
                numbers[id.replace("__", ".")] = value
    return draw | {"values": figures}


def as_in_the_paper(draw):
    in_figure_2 = {"global__nmi": (0.0001, 0.0005), "sub1__nmi": (0.005, 0.02), "sub2__nmi": (0.004, 0.1)}
    shares = {
        f"{name}__high__{income}_income__pct": share
        for name in ("sub1", "sub2")
        for income, share in (("low", 8), ("high", 4))
    }
    made = changed(draw, global__p=1e-10, **in_figure_2, **shares, sub1__high__white__pct=15, sub1__high__total__pct=8)
    figure_11 = made["values"]["figure-11"] | {"sub1.nmi": (0.09, 0.16), "men.nmi": (0.08, 0.15)}
    return made | {
        "values": made["values"] | {"figure-11": figure_11},
        "high_prices": dict.fromkeys(draw["high_prices"], 1.0) | {contexts.NATIVE: 19.0},
    }


def test_every_number_and_claim_is_recorded(notes, draw):
    exp = notes("fairtest/staples")
    recording.staples(exp, {"as_published": [as_in_the_paper(draw)] * 3, "as_described": [draw]}, QUIET)
    assert exp.silent() == []
    assert all(exp.claims.values())
    assert exp.records["figure-2", "sub1.nmi", "as_published"].shape == (3, 2)
    assert exp.records["figure-11", "sub1.high.white.pct", "as_published"].tolist() == [15] * 3
    assert len(exp.records["figure-2", "global.size", "as_described"]) == 1


def test_claims_fail_where_most_draws_say_otherwise(notes, draw):
    good = as_in_the_paper(draw)
    bad = changed(good, global__nmi=(0.0, 0.006), sub2__high__low_income__pct=1, sub1__high__total__pct=15)
    bad["high_prices"] = {**good["high_prices"], contexts.NATIVE: 0.0}
    exp = notes("fairtest/staples")
    recording.staples(exp, {"as_published": [good, bad, bad]}, QUIET)
    failed = {id for (_, id), holds in exp.claims.items() if not holds}
    assert failed == {
        "global-effect-tiny", "zoom-in-grows", "lower-income-pays-more", "white-affected-in-ny", "native-most-affected"
    }  # fmt: skip


def test_half_of_the_draws_are_not_most(notes):
    exp = notes("fairtest/staples")
    claim_of_most(exp, "figure-2", "sorted", [True, False], "")
    claim_of_most(exp, "figure-2", "zoom-in-grows", np.array([True, False, True]), "")
    assert list(exp.claims.values()) == [False, True]


def test_a_share_of_nobody_is_left_out(notes, draw):
    nobody = changed(as_in_the_paper(draw), sub1__high__american_indian__pct=np.nan)
    exp = notes("fairtest/staples")
    recording.staples(exp, {"as_published": [as_in_the_paper(draw), nobody, nobody]}, QUIET)
    assert len(exp.records["figure-11", "sub1.high.american_indian.pct", "as_published"]) == 1
    exp = notes("fairtest/staples")
    recording.staples(exp, {"as_published": [nobody]}, QUIET)
    assert ("figure-11", "sub1.high.american_indian.pct") in exp.skipped

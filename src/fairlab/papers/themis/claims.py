"""What the paper says of figures 1 and 2, put to any scores: those of the stored suites, or of fresh runs.

Scores are in percent, by the id of the printed cell or set; some may be missing. A statement is then judged if the
others decide it.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairlab.papers.themis.cells import supersets_below
from fairlab.papers.themis.instances import AWARE

# The system without awareness that is of the kind of one with: trees and naive Bayes. The paper's sentence leaves out
# logistic regression (A and G).
COUNTERPARTS = {"b": "f", "c": "e", "d": "f"}
WORDS = {True: "holds", False: "fails", None: "not decided"}


@dataclass(frozen=True)
class Answer:
    """Whether a statement holds.

    Attributes
    ----------
    holds : bool or None
        None if the scores that are there do not decide it.
    detail : str
        What it rests on.
    """

    holds: bool | None
    detail: str


def of_figure_1(score: pd.Series) -> dict[str, Answer]:
    """Judge the statements on figure 1."""
    group, causal = (score[f"b.census.gender.gender.{measure}"] for measure in ("group", "causal"))
    race = score["b.census.gender.race.causal"]
    return {
        "b-gender-causal-far-above-group": Answer(
            _decided(causal > 21 * group, [group, causal]), f"causal {_percent(causal)}, group {_percent(group)}"
        ),
        "b-gender-discriminates-race": Answer(_decided(race > 35, [race]), _percent(race)),
        "aware-not-better": _unaware_lower(score),
        "aware-still-discriminate": _largest_own(score),
        "most-are-small": _most((score < 5)[score.notna()], len(score), "{} of {} cells are below 5%"),
    }


def of_figure_2(scores: pd.DataFrame, printed: pd.Index) -> dict[str, Answer]:
    """Judge the statements on figure 2.

    Parameters
    ----------
    scores : DataFrame
        By id, columns ``score``, ``low`` and ``high``; sets that are not printed may be among them.
    printed : Index of str
        The ids of the printed sets.
    """
    score, there = scores["score"], scores.dropna()
    joined, alone = score["b.census.gender.gender_marital_race"], score["b.census.gender.gender"]
    country_race = score["f.census.unaware.country_race"]
    compared, below = supersets_below(there.reset_index(names="id"))
    shown = score[printed].dropna()
    return {
        "b-gender-77": Answer(_decided(joined > 75, [joined]), _percent(joined)),
        "b-gender-alone-12": Answer(_decided(alone < 12, [alone]), _percent(alone)),
        "f-country-race-98": Answer(_decided(country_race > 95, [country_race]), _percent(country_race)),
        "superset-at-least-subset": Answer(not below, f"below in {len(below)} of {compared} pairs of sets"),
        "all-at-least-five": Answer(
            bool((shown >= 5).all()), f"{(shown >= 5).sum()} of {len(shown)} sets, the least {_percent(shown.min())}"
        ),
    }


def beside(answers: dict[str, dict[str, Answer]]) -> pd.DataFrame:
    """Return answers by what was asked, one row a statement: whether it holds, and what that rests on."""
    columns = {}
    for name, of in answers.items():
        columns[name] = {id: WORDS[answer.holds] for id, answer in of.items()}
        columns[f"{name}: detail"] = {id: answer.detail for id, answer in of.items()}
    return pd.DataFrame(columns).rename_axis("claim")


def _unaware_lower(score: pd.Series) -> Answer:
    pairs = {}
    for id in score.index:
        system, data, _, tested, measure = id.split(".")
        if system in COUNTERPARTS:
            pairs[id] = f"{COUNTERPARTS[system]}.{data}.unaware.{tested}.{measure}"
    aware, unaware = score[list(pairs)].to_numpy(), score[list(pairs.values())].to_numpy()
    there = ~np.isnan(aware) & ~np.isnan(unaware)
    return _most(pd.Series(unaware < aware)[there], len(pairs), "the unaware system is lower in {} of {} cells")


def _largest_own(score: pd.Series) -> Answer:
    """Look at the causal scores of aware systems by what they were made aware of."""
    own = score[[id for id in score.index if _is_own_causal(id)]]
    largest = own.idxmax()
    holds = True if own[largest] > 10 else None if own.isna().any() else False
    return Answer(holds, f"largest of {own.notna().sum()}: {largest} {_percent(own[largest])}")


def _is_own_causal(id: str) -> bool:
    system, _, trained_for, tested, measure = id.split(".")
    return system in AWARE and trained_for == tested and measure == "causal"


def _most(hits: pd.Series, total: int, sentence: str) -> Answer:
    """Judge whether more than half of all hit, given those that are there."""
    n, missing = int(hits.sum()), total - len(hits)
    holds = True if n > total / 2 else False if n + missing <= total / 2 else None
    return Answer(holds, sentence.format(n, len(hits)) + (f" ({missing} are not there)" if missing else ""))


def _decided(holds, needed: list[float]) -> bool | None:
    return None if np.isnan(needed).any() else bool(holds)


def _percent(score: float) -> str:
    return "no score" if np.isnan(score) else f"{score:.2f}%"

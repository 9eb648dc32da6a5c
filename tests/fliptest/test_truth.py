"""What the audit by FlipTest promises, held against models whose discrimination is known by enumeration."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import truth

from fairlab.auditing import run
from fairlab.cases import Case
from fairlab.fliptest import counterpart_test

N_MODELS = 50  # of each kind
N_FURTHER = 10
CONFIDENCE, STRICT = 0.95, 0.005
# All combinations of a number, a text and a truth value.
CELLS = pd.DataFrame(
    [(a, b, c) for a in range(20) for b in ("x", "y", "z") for c in (False, True)], columns=["number", "text", "flag"]
)


@dataclass(frozen=True)
class World:
    """How often each combination occurs in both groups, and how it is decided: two arrays of shape (2, n_cells)."""

    share: np.ndarray
    favourable: np.ndarray
    n_people: int

    @property
    def difference(self) -> float:
        """The selection rate difference, by enumeration."""
        first, second = (self.share * self.favourable).sum(axis=1)
        return first - second

    @property
    def unseen(self) -> bool:
        return bool((self.favourable[0] == self.favourable[1]).all())

    def people(self, rng) -> tuple[np.ndarray, np.ndarray]:
        """Draw the sex and the combination of everyone."""
        sex = np.arange(self.n_people) % 2
        return sex, np.where(sex == 0, *(rng.choice(len(CELLS), self.n_people, p=share) for share in self.share))

    def flips(self, rng) -> float:
        """Return the excess decision flips among freshly drawn people."""
        sex, cells = self.people(rng)
        parts = [cells[sex == group] for group in (0, 1)]
        decisions = [self.favourable[group][part] for group, part in enumerate(parts)]
        return counterpart_test([CELLS.iloc[part] for part in parts], decisions).estimate

    def case(self, rng) -> Case:
        """Draw people, and put the model to them."""
        sex, cells = self.people(rng)
        table = CELLS.iloc[cells].assign(sex=np.array(["f", "m"])[sex]).reset_index(drop=True)

        def decide(rows):
            sex = (rows["sex"] == "m").to_numpy().astype(int) if "sex" in rows else 0
            cell = rows["number"] * 6 + rows["text"].map({"x": 0, "y": 2, "z": 4}) + rows["flag"]
            return self.favourable.astype(bool)[sex, cell.to_numpy().astype(int)]

        features = list(CELLS) if self.unseen else [*CELLS, "sex"]
        return Case(decide, table, sensitive_features="sex", features=features)


def joint(number, text, flag):
    """Return the shares of all combinations of three independent columns."""
    return (number[:, None, None] * text[:, None] * flag).ravel()


def columns(rng):
    return [rng.dirichlet(np.full(size, 2.0)) for size in (20, 3, 2)]


def alike(rng):
    """Fair: both groups are alike, and the model is any function of the columns."""
    favourable = (CELLS["number"] + 4 * rng.normal(size=len(CELLS)) > rng.uniform(5, 15)).to_numpy()
    return [joint(*columns(rng))] * 2, [favourable] * 2


def unlike_elsewhere(rng):
    """Fair: the model reads the number alone, which is alike in both groups; all else is not."""
    number = columns(rng)[0]
    shares = [joint(number, *columns(rng)[1:]) for _ in range(2)]
    return shares, [(CELLS["number"] > rng.integers(4, 15)).to_numpy()] * 2


def noisy(rng):
    """Fair: decisions that go up and down with the number, so that every match is a matter of chance."""
    number = columns(rng)[0]
    shares = [joint(number, *columns(rng)[1:]) for _ in range(2)]
    by_number = rng.random(20) < rng.uniform(0.2, 0.8)
    return shares, [by_number[CELLS["number"]]] * 2


def harder_for_one(rng):
    """A clear rule: the first group needs a higher number."""
    share = joint(np.full(20, 1 / 20), *columns(rng)[1:])
    limit = rng.integers(4, 8)
    return [share] * 2, [(CELLS["number"] > limit + more).to_numpy() for more in (rng.integers(6, 11), 0)]


def by_proxy(rng):
    """The model reads the text, which differs between the groups."""
    shares = [joint(*columns(rng)) for _ in range(2)]
    chosen = rng.permutation(["x", "y", "z"])[: rng.integers(1, 3)]
    return shares, [CELLS["text"].isin(chosen).to_numpy()] * 2


def opposite(rng):
    """A clear rule that rates do not show: high numbers are asked of one group, low ones of the other."""
    number = columns(rng)[0]
    number = (number + number[::-1]) / 2
    high = (CELLS["number"] >= 10).to_numpy()
    return [joint(number, *columns(rng)[1:])] * 2, [high, ~high]


FAIR = (alike, unlike_elsewhere, noisy)
KINDS = (*FAIR, harder_for_one, by_proxy, opposite)


def outcomes(n_models: int = N_MODELS, n_further: int = N_FURTHER) -> pd.DataFrame:
    """Return one row per model: what was found, and the truth."""
    rows = []
    for number, kind in enumerate(KINDS):
        for k in range(n_models):
            rng = np.random.default_rng([number, k])
            share, favourable = kind(rng)
            world = World(np.array(share), np.array(favourable), int(rng.integers(160, 320)))
            case = world.case(rng)
            [rates], [flips] = (
                run(method, case, budget=0, confidence_level=CONFIDENCE).findings for method in ("rates", "fliptest")
            )
            further = [world.flips(rng) for _ in range(n_further)]
            rows.append(
                {
                    "kind": kind.__name__,
                    "fair": kind in FAIR,
                    "difference held": rates.low <= world.difference <= rates.high,
                    "flips held": flips.low <= max(np.mean(further), 0) <= flips.high if further else True,
                    "difference found": rates.p_value <= 1 - CONFIDENCE,
                    "flips found": flips.p_value <= 1 - CONFIDENCE,
                    "truth": world.difference,
                }
            )
    return pd.DataFrame(rows)


def outcomes_of_one_number(n_models: int = 300, n_further: int = N_FURTHER) -> pd.DataFrame:
    """Return one row per model that reads one number, of which both groups have the same distribution.

    All who are near the threshold have counterparts on the same side of it. Every other model asks more of one group.
    """
    rows = []
    for k in range(n_models):
        rng = np.random.default_rng([len(KINDS), k])
        n, threshold, more = rng.integers(100, 900), rng.normal(), k % 2 * rng.uniform(0.2, 0.8)

        def matched(n=n, limits=(threshold, threshold + more), rng=rng):
            people = [pd.DataFrame({"number": rng.normal(size=n)}) for _ in range(2)]
            decisions = [each["number"] > limit for each, limit in zip(people, limits, strict=True)]
            return counterpart_test(people, decisions)

        test = matched()
        truth = np.mean([matched().estimate for _ in range(n_further)]) if more else 0.0
        held, found = test.low <= truth <= test.high, test.p_value() <= 1 - CONFIDENCE
        rows.append({"fair": not more, "held": held, "found": found, "strictly": test.p_value() <= STRICT})
    return pd.DataFrame(rows)


def found_where_rules_change_often(n_models: int = 300) -> np.ndarray:
    """Return which fair models that read one number, and change their answer up to 40 times along it, have flips."""
    found = []
    for k in range(n_models):
        rng = np.random.default_rng([len(KINDS) + 1, k])
        n, speed, step = rng.integers(100, 900), rng.uniform(2, 20), rng.choice([0, 0.25])

        def rule(number, speed=speed, step=step):
            return np.sin(speed * (np.round(number / step) * step if step else number)) > 0

        people = [pd.DataFrame({"number": rng.normal(size=n), "town": rng.integers(0, 1 + k % 3, n)}) for _ in "ab"]
        test = counterpart_test(people, [rule(each["number"]) for each in people])
        found.append(test.p_value() <= 1 - CONFIDENCE)
    return np.array(found)


def statements(found: pd.DataFrame, of_one_number: pd.DataFrame, of_many_steps: np.ndarray) -> pd.DataFrame:
    """Return how many models each promise was kept for."""
    fair, of = found["fair"], found["kind"].eq
    fair_of_one = of_one_number[of_one_number["fair"]]
    kept = {
        "the interval of the selection rate difference holds the truth": (found["difference held"], CONFIDENCE),
        "the interval of the excess decision flips holds their mean over 10 further tables": (
            found["flips held"],
            CONFIDENCE,
        ),
        "fair models: no selection rate difference is found": (~found.loc[fair, "difference found"], CONFIDENCE),
        "fair models: no excess decision flips are found": (~found.loc[fair, "flips found"], CONFIDENCE),
        "a group that needs 6 to 10 points of 20 more is found by the rates": (
            found.loc[of("harder_for_one"), "difference found"],
            CONFIDENCE,
        ),
        "rules that are opposite for both groups are found by the flips": (
            found.loc[of("opposite"), "flips found"],
            CONFIDENCE,
        ),
        "models of one number: the interval of the excess holds its mean": (of_one_number["held"], CONFIDENCE),
        "fair models of one number: no excess decision flips are found": (~fair_of_one["found"], CONFIDENCE),
        "fair models of one number: none are found at 0.005": (~fair_of_one["strictly"], 1 - STRICT),
        "fair models that change often along one number: no excess decision flips are found": (
            ~of_many_steps,
            CONFIDENCE,
        ),
    }
    return truth.tabulate((name, held, stated) for name, (several, stated) in kept.items() for held in several)


def test_fair_models_are_fair_by_enumeration(rng):
    for kind in KINDS:
        share, favourable = kind(rng)
        world = World(np.array(share), np.array(favourable), 200)
        np.testing.assert_allclose(world.share.sum(axis=1), 1)
        if kind in (*FAIR, opposite):
            assert abs(world.difference) < 1e-12
        assert world.case(rng).decide().mean() == pytest.approx((world.share * world.favourable).sum() / 2, abs=0.15)


@pytest.mark.slow
def test_promises_are_kept():
    truth.check_committed(
        "fliptest", statements(outcomes(), outcomes_of_one_number(), found_where_rules_change_often())
    )


if __name__ == "__main__":
    truth.main("fliptest", lambda: statements(outcomes(), outcomes_of_one_number(), found_where_rules_change_often()))

import numpy as np
import pandas as pd
import pytest

from fairlab.fliptest import match

rng = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "age": rng.integers(18, 80, 30),
        "job": rng.choice(["cook", "clerk", None], 30),
        "member": rng.random(30) < 0.5,
        "income": np.where(rng.random(30) < 0.2, np.nan, rng.normal(3e4, 1e4, 30)),
    },
    index=[f"p{i}" for i in range(30)],
)


def test_everyone_is_matched_with_themselves():
    pairs = match(PEOPLE, PEOPLE[::-1])
    assert pairs["source"].tolist() == pairs["target"].tolist() == PEOPLE.index.tolist()
    assert (pairs["share"] == 1).all()
    assert (pairs["cost"] == 0).all()


def test_groups_of_different_sizes_share_people():
    pairs = match(PEOPLE[:10], PEOPLE[10:])
    assert pairs.groupby("source")["share"].sum().to_numpy() == pytest.approx(1)
    assert set(pairs["target"]) == set(PEOPLE.index[10:])
    pd.testing.assert_frame_equal(pairs, match(PEOPLE[:10], PEOPLE[10:]))


def test_gan_ends_at_real_people():
    pytest.importorskip("tensorflow")
    small = {"hidden_layers": (8,), "n_steps": 6, "batch_size": 4, "critic_steps": 1}
    pairs = match(PEOPLE[:15], PEOPLE[15:], method="gan", **small)
    assert pairs["source"].tolist() == PEOPLE.index[:15].tolist()
    assert set(pairs["target"]) <= set(PEOPLE.index[15:])
    assert (pairs["cost"] > 0).any()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((PEOPLE, PEOPLE), {"method": "nearest"}, "method: unknown 'nearest', expected one of exact, gan"),
        ((PEOPLE.to_numpy(), PEOPLE), {}, "X_source: expected a DataFrame, found ndarray"),
        ((PEOPLE, PEOPLE[:0]), {}, "X_target: is empty"),
        ((PEOPLE, PEOPLE.drop(columns="job")), {}, "only in X_source: job"),
    ],
)
def test_bad_arguments(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        match(*arguments, **options)

import numpy as np
import pandas as pd
import pytest
from fit_surrogates import count_labels
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlab.data.surrogates.label_rates import ImageGroup

TABLE = pd.DataFrame(
    {
        "tagger": ["one", "one", "two"],
        "race": ["Black", "Black", "White"],
        "labels": ["hat|tie", "hat|suit", "tie|tie"],
    }
)


def test_counts_by_hand():
    first, second = count_labels(TABLE).groups
    assert first == ImageGroup(
        values={"tagger": "one", "race": "Black"}, images=2, counts={"hat": 2, "suit": 1, "tie": 1}
    )
    assert second == ImageGroup(values={"tagger": "two", "race": "White"}, images=1, counts={"tie": 1})


@settings(deadline=None, max_examples=30)
@given(data=st.data(), images=st.integers(1, 30), seed=st.integers(0, 99))
def test_each_label_is_given_to_so_many_images_and_all_images_have_as_many(data, images, seed):
    counts = data.draw(st.lists(st.integers(1, images), min_size=1, max_size=8))
    group = ImageGroup(values={}, images=images, counts={f"l{k}": count for k, count in enumerate(counts)})
    has = group.draw(np.random.default_rng(seed))
    assert has.sum(axis=0).tolist() == counts
    assert np.ptp(has.sum(axis=1)) <= 1


def test_labels_come_together_by_chance():
    # Two labels of four images each, two labels in all: 8 places in 8 images, one each, so never together.
    apart = ImageGroup(values={}, images=8, counts={"a": 4, "b": 4})
    assert not apart.draw(np.random.default_rng(0)).all(axis=1).any()
    # One image has both if a third label fills up the others: the pairs are equally likely.
    group = ImageGroup(values={}, images=3, counts={"a": 2, "b": 2, "c": 2})
    rng = np.random.default_rng(1)
    together = np.mean([[(has[:, i] & has[:, j]).sum() for i, j in ((0, 1), (0, 2), (1, 2))]
                        for has in (group.draw(rng) for _ in range(300))], axis=0)  # fmt: skip
    np.testing.assert_allclose(together, 1)
    where = [group.draw(rng)[:, :2].all(axis=1).argmax() for _ in range(600)]
    np.testing.assert_allclose(np.bincount(where, minlength=3) / 600, 1 / 3, atol=0.08)


def test_no_association_is_left_over_from_the_first_table():
    group = ImageGroup(values={}, images=600, counts={f"l{k}": 60 for k in range(50)})
    correlation = np.corrcoef(group.draw(np.random.default_rng(2)).T)
    off = correlation[np.triu_indices(50, k=1)]
    assert off.mean() == pytest.approx(-1 / 49, abs=0.002)  # labels compete for the places
    assert off.std() == pytest.approx(1 / np.sqrt(600), rel=0.1)


def test_table_and_yaml_file():
    rates = count_labels(pd.concat([TABLE] * 20))
    table = rates.sample(60, random_state=3)
    assert list(table.columns) == ["tagger", "race", "labels"]
    assert count_labels(table) == rates
    assert not rates.sample(60, random_state=4).equals(table)

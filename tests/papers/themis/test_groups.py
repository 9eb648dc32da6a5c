from itertools import combinations
from math import prod

import pytest

from fairlab.papers.themis.groups import n_groups

SIZES = {"age": 10, "sex": 2, "race": 5, "country": 40}


def test_all_sets():
    assert n_groups(SIZES) == 11 * 3 * 6 * 41 - 1


@pytest.mark.parametrize("found", [[("age",)], [("sex", "race"), ("country",)], [("age", "sex", "race", "country")]])
def test_supersets_of_found_sets_are_left_out(found):
    every = [subset for size in range(1, 5) for subset in combinations(SIZES, size)]
    kept = [subset for subset in every if not any(set(small) < set(subset) for small in found)]
    assert n_groups(SIZES, found) == sum(prod(SIZES[name] for name in subset) for subset in kept)


def test_too_many_characteristics():
    with pytest.raises(ValueError, match="25 characteristics, expected at most 24"):
        n_groups({str(k): 2 for k in range(25)})

import numpy as np
import pytest

from fairlab.cases.draws import codes_of


def test_a_code_is_the_upper_half_of_a_product():
    numbers = np.array([0, 2**31, 2**32 - 1, 2**30], dtype=np.uint32)
    codes, _ = codes_of(numbers, np.array([2, 7]))
    assert codes.tolist() == [[0, 1], [3, 1]]  # 7 / 2 and 7 / 4, rounded down


@pytest.mark.parametrize(("number", "size", "is_doubtful"), [(2**31 + 1, 2, False), (2**31, 2, True), (0, 2, True)])
def test_a_number_at_the_beginning_of_a_code_may_need_another(number, size, is_doubtful):
    assert codes_of(np.array([number], dtype=np.uint32), np.array([size]))[1] == is_doubtful


@pytest.mark.parametrize("sizes", [(10, 8, 70, 2), (2,), (2**31 - 1, 3)])
def test_codes_are_those_that_numpy_draws(sizes):
    sizes = np.array(sizes)
    for seed in range(20):
        numbers = np.random.default_rng(seed).integers(2**32, size=50 * len(sizes), dtype=np.uint32)
        codes, is_doubtful = codes_of(numbers, sizes)
        expected = np.random.default_rng(seed).integers(sizes, size=(50, len(sizes)))
        assert is_doubtful <= (sizes.max() > 100)  # with small sizes in one of 10^6 of these
        assert is_doubtful or (expected == codes.T).all()
        assert codes.dtype == expected.dtype

import numpy as np
import pandas as pd

from fairlab.data.surrogates.marginals import Counts, Quantiles
from fairlab.data.surrogates.strata import Stratum, as_shares, find_groups

STRATUM = Stratum(
    ((("f", "Black"), 30), (("m", "Black"), 25)),
    {"x": Counts((1, 2), (40, 15)), "y": Quantiles((0.0, 0.5, 1.0), 0.5, 1)},
)


def test_small_groups_are_merged():
    counts = {("f", "a"): 300, ("m", "a"): 199, ("f", "b"): 10, ("m", "b"): 9, ("m", "c"): 200}
    people = pd.DataFrame([group for group, n in counts.items() for _ in range(n)], columns=["sex", "race"])
    shuffled = people.sample(frac=1, random_state=0).astype("category")
    assert find_groups(shuffled, ["sex", "race"]) == [
        [(("f", "a"), 300)],
        [(("m", "c"), 200)],
        [(("f", "b"), 10), (("m", "a"), 199)],
    ]


def test_without_small_groups_there_is_no_common_stratum():
    assert find_groups(pd.DataFrame({"sex": ["f"] * 200}), ["sex"]) == [[(("f",), 200)]]


def test_survives_a_file_whatever_its_order():
    content = STRATUM.to_dict()
    assert content["groups"] == [["f", "Black", 30], ["m", "Black", 25]]
    content["marginals"] = dict(reversed(content["marginals"].items()))
    again = Stratum.from_dict(content, ["x", "z", "y"])
    assert again == STRATUM
    assert list(again.marginals) == ["x", "y"]
    assert again.rows == 55


def test_shares():
    np.testing.assert_allclose(as_shares((1, 3)), [0.25, 0.75])

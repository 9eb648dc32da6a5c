import pandas as pd
import pytest

from fairlab.data.encoding import binned, coded, codes, copied, encode, flagged, in_words


def column(*values, name="x"):
    return pd.Series(values, name=name, dtype=str)


def test_bins_round_towards_minus_infinity():
    assert binned(50)(column("-1", "0", "49", "50", "-50", "-51")).tolist() == [-1, 0, 0, 1, -1, -2]


def test_bins_are_cut_off_at_both_ends():
    assert binned(10, low=1, high=9)(column("5", "17", "99", "140")).tolist() == [1, 1, 9, 9]
    assert copied(low=0, high=1)(column("0", "1", "7")).tolist() == [0, 1, 1]


def test_codes_are_places_with_gaps_and_extras():
    rule = coded("a", None, "c", **{"?": 100})
    assert rule(column("c", "?", "a")).tolist() == [2, 100, 0]


def test_a_value_without_code_is_named():
    with pytest.raises(ValueError, match="column 'purpose' holds 'A47', expected one of A40, A41"):
        coded("A40", "A41")(column("A40", "A47", name="purpose"))


def test_encode_keeps_the_order_of_the_rules_and_drops_what_has_none():
    raw = pd.DataFrame({"a": ["x", "y"], "b": ["3", "4"], "c": ["-1", "5"]})
    table = encode(raw, {"c": flagged("-1"), "a": coded("y", "x")})
    assert table.to_dict("list") == {"c": [1, 0], "a": [1, 0]}
    assert (table.dtypes == "int64").all()


def test_words_and_codes_undo_each_other():
    table = pd.DataFrame({"sex": [1, 0, 1], "age": [3, 4, 5]})
    words = table.assign(sex=in_words(table["sex"], ["female", "male"]))
    assert words["sex"].tolist() == ["male", "female", "male"]
    pd.testing.assert_frame_equal(codes(words), table)

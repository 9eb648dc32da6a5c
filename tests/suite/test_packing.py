import json

import numpy as np
import pandas as pd
import pytest

from fairlab.suite.packing import pack, unpack

TABLE = pd.DataFrame(
    {
        "text": ["x", None],
        "number": [1.5, np.nan],
        "category": pd.Categorical(["u", "v"], categories=["v", "u"], ordered=True),
        "day": pd.to_datetime(["2020-01-01", None]),
        "instant": pd.to_datetime(["2020-01-01", "2021-01-01"]).tz_localize("Europe/Berlin"),
        "whole": pd.array([1, None], dtype="Int64"),
        "anything": pd.Series([(1, 2), ["a", None]], dtype=object),
        "words": pd.Series(["p", "q"], dtype=object),
        ("two", 1): [True, False],
    }
)
LEVELS = TABLE.set_index(["text", "number"])
VALUES = [
    *(None, True, 1, 10**30, -0.0, float("inf"), float("nan"), 0.1 + 0.2, "é", "\ud800", b"ab", 1 + 2j),
    *(np.float32(1.1), np.bool_(True), np.int64(-3), np.str_("ab"), np.datetime64("2020-01-01"), pd.NaT),
    *(np.zeros((3, 0)), np.array(3.5), np.array(["a", "bc"]), np.array([True]), np.asfortranarray(np.eye(2, 3))),
    *([], (), {}, [1, (2.0, "three")], {1: 2, (1, "a"): {None: []}, np.int64(3): (4,)}),
    *(
        pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=["x", "y"]),
        TABLE[["whole"]],
        TABLE,
        LEVELS,
        TABLE.T,
        pd.DataFrame(),
        pd.DataFrame(index=["a"]),
        pd.DataFrame(columns=["a"]),
    ),
    *(TABLE["text"], TABLE["category"], pd.Series([1, 2], index=pd.RangeIndex(0, 4, 2, name="r"), name=("a", 1))),
    *(LEVELS.index, pd.Index(["a", "b"], name="n"), pd.CategoricalIndex(["a", "b", "a"])),
    *(pd.Index([(1, 2), (3, 4)], tupleize_cols=False), pd.DatetimeIndex(["2020-01-01"])),
    *(pd.Timestamp("2020-01-01 12:00:00.123456789", tz="Europe/Berlin"), pd.Timestamp("2020-01-01")),
]


def kept(value):
    tree, buffers = pack(value)
    return unpack(json.loads(json.dumps(tree)), list(map(bytearray, buffers)))


def assert_same(a, b):
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert_same(list(a), list(b))
        assert_same(list(a.values()), list(b.values()))
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_same(one, other)
    elif isinstance(a, np.ndarray | np.generic):
        assert (a.dtype, a.shape, a.tobytes(), a.flags.c_contiguous) == (
            b.dtype,
            b.shape,
            b.tobytes(),
            b.flags.c_contiguous,
        )
    elif isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b, check_exact=True)
        for k in range(a.shape[1]):
            assert_same(list(a.iloc[:, k]), list(b.iloc[:, k]))
    elif isinstance(a, pd.Series):
        pd.testing.assert_series_equal(a, b, check_exact=True)
    elif isinstance(a, pd.Index):
        pd.testing.assert_index_equal(a, b, exact=True)
    else:
        assert repr(a) == repr(b)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_round_trip_is_exact(value):
    assert_same(value, kept(value))


def test_arrays_come_back_free_to_be_changed():
    array = kept(np.zeros(3))
    array[0] = 1
    assert array[0] == 1
    table = kept(pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}))
    table.loc[0, "a"] = 5.0
    assert table["a"].tolist() == [5.0, 2.0]


class Special(np.ndarray):
    pass


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": np.array([object()])}, r"result\['a'\], a ndarray of object"),
        ([lambda: 1], r"result\[0\], a function"),
        ((np.zeros(2).view(Special),), r"result\[0\], a Special"),
        (pd.DataFrame({"a": [1, print]}), r"result\['a'\]\[1\], a builtin"),
        ({len: 1}, r"keys of result\[0\], a builtin"),
        (np.void(b"ab"), "result, a void"),
    ],
)
def test_other_objects_are_named_in_the_error(value, message):
    with pytest.raises(TypeError, match=message):
        pack(value)

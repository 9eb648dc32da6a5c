"""One contract on six engines: equal counts, thresholds, trees, tests and intervals."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from fractions import Fraction
from operator import mul
from pathlib import Path

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from fairlab.cases import Case
from fairlab.cases.tables import (
    Code,
    Column,
    Cut,
    EngineError,
    EngineTable,
    Hash,
    InMemory,
    Split,
    encode,
    encoding,
    engine_table,
    find_thresholds,
)
from fairlab.cases.tables import folder as of_codes
from fairlab.cases.tables.keys import Distance, Influences, Products
from fairlab.fairtest import (
    NMI,
    Correlation,
    DataSource,
    Difference,
    Investigation,
    Ratio,
    impact_table,
    investigate,
)

N = 3_000


def people(n=N):
    """Return people of whom men above 40 are favoured; keys are negative, too, and some towns are missing."""
    rng = np.random.default_rng(0)
    age, pay = rng.integers(18, 80, n), rng.lognormal(3, 1, n).round(2)
    sex, town = rng.choice(["f", "m"], n), rng.choice(["u", "v", "w", None], n, p=[0.4, 0.3, 0.2, 0.1])
    score = (sex == "m") * (age > 40) * 1.2 + (town == "u") * 0.5 + rng.normal(size=n)
    return pd.DataFrame(
        {
            "id": rng.permutation(n) * 7 - 5_000,
            "sex": sex,
            "age": age,
            "pay": pay,
            "town": town,
            "grade": np.array(["low", "middle", "high"])[np.digitize(score, [0, 1])],
            "score": score,
            "guess": score + rng.normal(size=n) * (1 + (sex == "f")),
            "offer": score > 0.5,
            "truth": score + rng.normal(size=n) > 0.5,
            "job": rng.integers(2, size=n),
        }
    )


@pytest.fixture(scope="module", autouse=True)
def _small_parts():
    """Folders of codes are counted in parts, and keep pay and score as numbers."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, size in (
            (encoding, "MOST_CODES", 1_000),
            (of_codes, "ROWS_AT_ONCE", 777),
            (of_codes, "N_BINS", 5),
        ):
            patch.setattr(module, name, size)
        yield


@pytest.fixture(scope="module")
def spark():
    """A Spark Connect session of Sail, which needs no Java."""
    server = pytest.importorskip("pysail.spark", reason="the extra spark-test is not installed").SparkConnectServer()
    from pyspark.sql import SparkSession

    server.start()
    session = SparkSession.builder.remote(f"sc://localhost:{server.listening_address[1]}").getOrCreate()
    yield session
    session.stop()
    server.stop()


def to_relation(frame):
    """Return a frame as a table of DuckDB."""
    connection = pytest.importorskip("duckdb").connect()
    connection.execute("CREATE TABLE people AS SELECT * FROM frame")
    return connection.table("people")


def to_files(frame, folder):
    """Write a frame into two files of a folder, and return what names both."""
    pytest.importorskip("duckdb")
    for place, part in enumerate((frame.head(len(frame) // 3), frame.tail(-(len(frame) // 3)))):
        part.to_parquet(folder / f"{place}.parquet")
    return str(folder / "*.parquet")


# What brings a frame into an engine; some need a new folder.
ENGINES = {
    "pandas": lambda frame, _: EngineTable(frame),  # or a frame of pandas is looked at in memory
    "polars": lambda frame, _: pytest.importorskip("polars").from_pandas(frame),
    "polars lazy": lambda frame, _: pytest.importorskip("polars").from_pandas(frame).lazy(),
    "arrow": lambda frame, _: pytest.importorskip("pyarrow").Table.from_pandas(frame),
    "duckdb": lambda frame, _: to_relation(frame),
    "files": to_files,
    "folder": lambda frame, folder: str(encode(to_files(frame, folder), folder / "codes", key="id")),
    "spark connect": None,
}


@pytest.fixture(scope="module", params=ENGINES)
def to_engine(request, tmp_path_factory):
    """Return what brings a frame into an engine."""
    if request.param == "spark connect":
        return request.getfixturevalue("spark").createDataFrame
    return lambda frame: ENGINES[request.param](frame, tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def table(to_engine):
    """The people as a table of an engine, with the same codes as in memory."""
    table = engine_table(to_engine(people()), "table")
    for name in ("id", "age", "pay"):
        table.add(Column(name, None))
    for name, values in CODED.items():
        table.add(Column(name, None, tuple(map(str, values))), {value: code for code, value in enumerate(values)})
    return table


CODED = {"sex": ["f", "m"], "town": [None, "u", "w", "v"], "offer": [False, True], "grade": ["high", "low", "middle"]}


def in_memory():
    frame, columns = people(), {}
    for name, values in CODED.items():
        codes = [values.index(None if pd.isna(value) else value) for value in frame[name]]
        columns[name] = Column(name, np.array(codes), tuple(map(str, values)))
    return InMemory(columns | {name: Column(name, frame[name].to_numpy()) for name in ("id", "age", "pay")})


SEX, TOWN, OFFER = Code("sex", 2), Code("town", 4), Code("offer", 2)
AGE = Cut("age", (25.0, 40.0, 60.5))
HALF = Cut(Hash.keyed("id", 3), (1e9,))
FIRST = Split(None, ((TOWN, (-1, 0, 1, 1)),), 2)
SECOND = Split(FIRST, ((AGE, (0, 0, 1, 1)), None), 2)
THIRD = Split(SECOND, ((AGE, (0, 1, -1, -1)), (SEX, (2, 3))), 4)
WRONG = Split(SEX, ((OFFER, (0, 1)), (OFFER, (1, 0))), 2)

LISTS = [(), (SEX, OFFER), (TOWN, HALF), (AGE, FIRST, OFFER), (SECOND,), (SEX, THIRD, OFFER), (WRONG, AGE), (THIRD,)]
AGES = Products("age", Distance("age", "pay"), (48.0, 2.0**-6, 30.0, 2.0**-11))
PAYS = Products(SEX, "pay", (0.5, 2.0, 20.0, 2.0**-10))
INFLUENCES = Influences("age", "pay", ((30.0, 40.0), (0.1, 0.2), (33.0, 34.0), (0.5, 0.03), (0.25, -0.5)), SEX)


def test_counts_and_sums_are_those_in_memory_to_the_last_bit(table):
    lists = [*LISTS, (AGES,), (TOWN, PAYS), (SEX, THIRD, AGES)]
    for found, expected in zip(table.tabulate(lists), in_memory().tabulate(lists), strict=True):
        np.testing.assert_array_equal(found, expected)
    [[found], [expected]] = (each.tabulate([(SEX, INFLUENCES)]) for each in (table, in_memory()))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    part = table.among(HALF, 1)
    assert part.n_rows == in_memory().codes(HALF).sum() == part.tabulate([(SEX,)])[0].sum()
    women = part.among(SEX, 0)
    assert women.n_rows == part.tabulate([(SEX,)])[0][0] == women.tabulate([(SEX, OFFER)])[0].sum()


def test_sums_in_memory_are_those_of_fractions():
    frame = people()
    women = frame[frame["sex"] == "f"]
    x = [Fraction(each) - Fraction(1, 2) for each in (frame["sex"] == "m").astype(int)]
    y = [(Fraction(each) - 20) / 1024 for each in frame["pay"]]
    found = Products.joined(in_memory().tabulate([(PAYS,)])[0])
    sums = [sum(x) * 2, sum(y), sum(a * a for a in x) * 4, sum(b * b for b in y), sum(map(mul, x, y)) * 2]
    np.testing.assert_allclose(found, [N, *map(float, sums)], rtol=1e-14)
    [counted] = in_memory().tabulate([(SEX, Products("age", "age", (0.0, 2.0**-7, 0.0, 2.0**-7)))])
    sums = Products.joined(counted)[0] * [1, 128, 128, 128**2, 128**2, 128**2]
    assert sums.tolist() == [len(women), *[women["age"].sum()] * 2, *[(women["age"] ** 2).sum()] * 3]


def test_counts_in_memory_are_those_of_masks():
    frame, table = people(), in_memory()
    is_first = (frame["town"] == "u") & (frame["age"] <= 25)  # part 0 of the third split
    is_third = (frame["town"] == "u") & (frame["age"] > 40) & (frame["sex"] == "f")
    [counts], [whole] = table.tabulate([(THIRD, OFFER)]), table.tabulate([()])
    expected = [[(mask & ~frame["offer"]).sum(), (mask & frame["offer"]).sum()] for mask in (is_first, is_third)]
    assert (counts[[0, 2]].tolist(), whole) == (expected, N)


@pytest.mark.parametrize("to_engine", ["duckdb"], indirect=True)
def test_plans_do_not_double_from_split_to_split(to_engine):
    frame, split = pd.DataFrame({f"bit {i}": np.arange(32) >> i & 1 for i in range(5)}), None
    for i in range(5):
        both = [(Cut(f"bit {i}", (0.5,)), (2 * part, 2 * part + 1)) for part in range(2**i)]
        split = Split(split, tuple(None if part % 4 == 1 else each for part, each in enumerate(both)), 2 ** (i + 1))
    table, in_memory = (
        engine_table(to_engine(frame), "table"),
        InMemory({name: Column(name, frame[name]) for name in frame}),
    )
    np.testing.assert_array_equal(*(each.tabulate([(split,)])[0] for each in (table, in_memory)))
    counted, names = table._with_splits([(split,)])
    plan = counted.group_by(names[split]).agg(nw.len()).to_native().explain()
    assert len(plan) < 10_000  # letters; 125,000 if the splits are part of a filter


def test_the_values_of_a_column_of_files_take_no_memory_by_its_rows(tmp_path, monkeypatch):
    pytest.importorskip("duckdb")
    monkeypatch.setattr(encoding, "MEMORY_GB", 0.02)
    pd.DataFrame({"sex": ["f", "m"] * 500_000}).to_parquet(tmp_path / "people.parquet")
    assert sorted(engine_table(tmp_path / "*.parquet", "table").values("sex")) == ["f", "m"]


@pytest.mark.parametrize("max_bins", [3, 10])
def test_thresholds_are_those_in_memory(table, max_bins):
    part, rows = table.among(HALF, 0), in_memory().codes(HALF) == 0
    for name, found in zip(("age", "pay"), part.thresholds(["age", "pay"], max_bins), strict=True):
        np.testing.assert_array_equal(found, find_thresholds(people()[name].to_numpy()[rows], max_bins))


def investigations():
    options = {"context": ["age", "town"], "min_leaf_size": 60, "max_depth": 2}
    by_town = options | {"context": ["town"]}
    return [
        Investigation("sex", "grade", metric=NMI(), **options),
        Investigation("sex", "offer", metric=Ratio(), **options),
        Investigation("sex", "offer", explanatory="job", metric=Difference(), **options),
        Investigation("sex", "offer", ground_truth="truth", **options),
        Investigation("sex", "offer", metric=Correlation(), **options),
        Investigation("sex", "score", **options),
        Investigation("age", "score", explanatory="job", **by_town),
        Investigation("sex", "guess", ground_truth="score", **by_town),
        Investigation("sex", ["offer", "truth"], **by_town),
    ]


def reported(data, key="id", looked_at=None):
    found = investigate(DataSource(data, split="hash", key=key, budget=2), looked_at or investigations())
    counts = [None if each is None else each.to_dict() for each in found.frame["counts"]]
    return found.frame.drop(columns=["node", "counts"]), counts, found.warnings


def test_trees_tests_and_intervals_are_those_in_memory(to_engine):
    (found, counts, warnings), (expected, expected_counts, _) = reported(to_engine(people())), reported(people())
    pd.testing.assert_frame_equal(found, expected, rtol=1e-9, atol=0)  # sums of floats depend on their order
    is_exact, rounded = ~expected["metric"].str.contains("CORR"), ["low", "high", "raw_p_value", "strength", "effect"]
    pd.testing.assert_frame_equal(found.loc[is_exact, rounded], expected.loc[is_exact, rounded], check_exact=True)
    assert counts == expected_counts
    assert (found["depth"] == 2).any() and found["significant"].any()
    assert found.groupby("investigation")["depth"].max()[5] > 0  # sums split people, too
    labels = "Labels were chosen among about 100,000 people of the training set; all of the test set are counted."
    assert labels in warnings and len(warnings) == 2


def test_zeros_of_both_signs_are_one_value_and_large_integers_are_numbers(to_engine):
    frame = people()
    signs = np.where(frame["id"] % 2, 1.0, -1.0)
    frame = frame.assign(old=(frame["age"] > 40) * signs, worth=(frame["pay"] * 2**45).astype(np.int64))
    looked_at = Investigation("sex", "offer", context=["old", "worth"], min_leaf_size=60, max_depth=2)
    (found, counts, _), (expected, expected_counts, _) = (
        reported(data, looked_at=looked_at) for data in (to_engine(frame), frame)
    )
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    assert counts == expected_counts
    assert found["context"].str.contains("old: ").any() and found["context"].str.contains("worth").any()


@pytest.mark.parametrize("to_engine", [each for each in ENGINES if each != "folder"], indirect=True)  # it has floats
def test_integers_beside_missing_ones_are_not_rounded(to_engine):
    codes = pd.Series([2**53, 2**53 + 1, None] * (N // 3), dtype="Int64")
    found = impact_table(to_engine(people().assign(code=codes)), decisions="offer", sensitive_features="code")
    assert found["people"].to_dict() == dict.fromkeys(["(unknown)", str(2**53), str(2**53 + 1)], N // 3)


@pytest.mark.parametrize("to_engine", ["pandas", "polars", "duckdb"], indirect=True)
def test_categories_stand_in_the_order_of_their_type(to_engine, request):
    grade = pd.CategoricalDtype(["low", "middle", "high", "top"], ordered=True)
    frame = people().astype({"grade": grade, "sex": "category"})
    data, looked_at = to_engine(frame), Investigation("sex", "grade", context=[])
    if "polars" in request.node.name:
        data = data.cast({"grade": pytest.importorskip("polars").Enum(grade.categories)})
    assert reported(data, looked_at=looked_at)[1] == reported(frame, looked_at=looked_at)[1]
    names = impact_table(data, decisions="offer", sensitive_features="grade").index.tolist()
    assert names == ["low", "middle", "high"]
    if "pandas" not in request.node.name:  # or there is no key
        case = Case.from_decisions(
            data.lazy() if "polars" in request.node.name else data, "offer", sensitive_features="grade", key="id"
        )
        assert case.groups("grade").cat.categories.tolist() == names


@pytest.mark.parametrize("to_engine", ["pandas", "polars", "arrow"], indirect=True)
def test_categories_of_numbers_as_text_are_categories(to_engine):
    frame = people().assign(job=lambda each: each["job"].astype(str).astype("category"))
    found = impact_table(to_engine(frame), decisions="offer", sensitive_features="job")
    assert found["people"].to_dict() == frame["job"].value_counts(sort=False).to_dict()


def test_uuids_and_lists_of_duckdb():
    relation = pytest.importorskip("duckdb").sql(
        "select cast(md5((range % 2)::varchar) as uuid) as place, [range % 2] as several, range % 3 = 0 as offer "
        "from range(600)"
    )
    options = {"decisions": "offer", "sensitive_features": "place"}
    assert impact_table(relation, **options)["people"].tolist() == [300, 300]
    with pytest.raises(ValueError, match="column 'several': expected strings, booleans or numbers, found a list"):
        impact_table(relation, **options | {"sensitive_features": "several"})


def test_people_are_divided_by_texts_as_in_memory(to_engine):
    frame, looked_at = people().assign(id=lambda each: "né " + each["id"].astype(str)), investigations()[1]
    found, expected, other = (reported(data, looked_at=looked_at) for data in (to_engine(frame), frame, people()))
    pd.testing.assert_frame_equal(found[0], expected[0], check_exact=True)
    assert found[1] == expected[1] != other[1]


def test_impact_ratios_of_decisions(to_engine):
    frame = people().assign(truth=lambda each: each["truth"].astype(object).where(each["age"] < 70))
    found = impact_table(to_engine(frame), decisions="offer", sensitive_features=["sex", "town"], y_true="truth")
    assert found.index.tolist()[:2] == ["f, (unknown)", "f, u"]
    assert np.isnan(found.loc["f, (unknown)", "impact ratio"])
    women = frame[(frame["sex"] == "f") & (frame["town"] == "u")]
    assert (
        found.loc["f, u"].to_dict().items()
        >= {
            "people": len(women),
            "selected": women["offer"].sum(),
            "missing labels": women["truth"].isna().sum(),
            "true positive rate": women.loc[women["truth"] == True, "offer"].mean(),  # noqa: E712
        }.items()
    )


SPELT = people().assign(said=np.resize(["yes", "no", "YES"], N), other=np.resize(["yes", "no", "later"], N))
OF_SEX = {"sensitive_features": "sex", "pos_label": "yes"}


def test_a_third_label_is_said():
    with pytest.warns(UserWarning, match="Only 'yes' counts as favourable; as unfavourable count 'later', 'no'"):
        found = impact_table(SPELT, decisions="other", **OF_SEX)
    assert found["selected"].sum() == N // 3


@pytest.mark.parametrize(
    ("frame", "roles", "said"),
    [
        (SPELT, {"decisions": "said"}, "decisions: expected one spelling of each label, found 'YES', 'yes'"),
        (SPELT, {"decisions": "other", "y_true": "said"}, "y_true: expected one spelling of each label, found 'YES'"),
        (
            SPELT.set_axis(range(SPELT.shape[1]), axis=1),
            {"decisions": "other"},
            "counts: expected strings as names of columns, found 0",
        ),
    ],
)
def test_labels_in_two_spellings_and_columns_without_names_are_refused(frame, roles, said):
    with pytest.raises(ValueError, match=said):
        impact_table(frame, **OF_SEX, **roles)


@pytest.mark.parametrize("dtype", [bool, int, float])
@pytest.mark.parametrize("alike", [0, 1])
def test_decisions_and_labels_that_are_all_alike_are_counted(dtype, alike):
    frame = people().assign(same=np.full(N, alike, dtype))
    for options in ({"decisions": "same"}, {"decisions": "offer", "y_true": "same"}):
        found = impact_table(frame, sensitive_features="sex", **options)
        selected = frame[options["decisions"]].groupby(frame["sex"]).sum()
        assert found["selected"].to_dict() == selected.to_dict()
        if "y_true" in options:
            known, unknown = ("true", "false")[:: 1 if alike else -1]
            assert found[f"{known} positive rate"].to_dict() == pytest.approx(found["selection rate"].to_dict())
            assert found[f"{unknown} positive rate"].isna().all() and not found["missing labels"].any()


@pytest.mark.parametrize(
    ("call", "options", "said"),
    [
        (impact_table, {"sensitive_features": "no"}, "sensitive_features: no column 'no'"),
        (impact_table, {"sensitive_features": ()}, "sensitive_features: expected columns"),
        (impact_table, {"sensitive_features": "offer"}, "none of them with another role"),
        (impact_table, {"sensitive_features": "pay"}, "column 'pay' holds numbers"),
        (impact_table, {"decisions": "town"}, "pos_label: expected one of the values of column 'town'"),
        (impact_table, {"y_true": "nobody"}, "pos_label: expected one of the values of column 'nobody', , found None"),
        (impact_table, {"decisions": "town", "pos_label": "u"}, "some of column 'town' are missing"),
        # outside of memory a case needs a key
        (Case.from_decisions, {}, "key: expected a column"),
        (Case.from_decisions, {"key": "offer"}, "key: expected whole numbers or text"),
    ],
)
@pytest.mark.parametrize("to_engine", ["duckdb"], indirect=True)
def test_decisions_that_cannot_be_counted_or_sampled(to_engine, call, options, said):
    with pytest.raises(ValueError, match=said):
        call(to_engine(people().assign(nobody=None)), **{"decisions": "offer", "sensitive_features": "sex"} | options)


# Frames of pandas are in memory, codes have no rows.
@pytest.mark.parametrize("to_engine", [each for each in ENGINES if each not in ("pandas", "folder")], indirect=True)
def test_a_case_of_decisions_is_of_the_same_rows_everywhere(to_engine):
    options = {"decisions": "offer", "sensitive_features": "sex", "key": "id", "max_rows": 1_000, "features": ["age"]}
    cases = [Case.from_decisions(data, **options) for data in (to_engine(people()), people())]
    assert 850 < len(cases[0].table) < 1_150 and cases[0].n_given == N
    assert f"A random sample of {len(cases[0].table):,} of the 3,000 rows is examined" in " ".join(cases[0].warnings)
    pd.testing.assert_frame_equal(*(case.table.astype(str).reset_index(drop=True) for case in cases))
    np.testing.assert_array_equal(cases[0].decide(), cases[1].decide())


@pytest.mark.parametrize("seed", range(5))
def test_a_hash_divides_keys_as_if_at_random(seed):
    keys = InMemory({"id": Column("id", np.arange(40_000) - 20_000)})
    sets = keys.codes(Cut(Hash.keyed("id", seed), (2.0**30,)))
    pairs = np.bincount(2 * sets[::2] + sets[1::2], minlength=4)  # even and odd keys are as often together as apart
    assert abs(sets.mean() - 0.5) < 0.0125
    assert np.abs(pairs / pairs.sum() - 0.25).max() < 0.015


@pytest.mark.parametrize("to_engine", ["polars lazy", "duckdb", "folder"], indirect=True)
def test_what_needs_people_is_of_a_sample_and_the_report_says_so(to_engine):
    published = Correlation(variant="published")  # which resamples up to 1,000 people
    correlations = Investigation("sex", "pay", context=["town"], min_leaf_size=60, max_depth=1, metric=published)
    found, expected = (reported(data, looked_at=correlations) for data in (to_engine(people()), people()))
    pd.testing.assert_frame_equal(found[0], expected[0])
    assert found[2] == ("What needs more than counts and sums is of about 100,000 people of each set.",)
    assert not expected[2]


FLAWLESS = pd.DataFrame({"id": range(600), "pay": np.arange(600) / 7, "sex": ["f", "m"] * 300})
REST = range(2, 600)


@pytest.mark.parametrize(
    ("frame", "options", "said"),
    [
        (FLAWLESS.assign(id=[1, 1, *REST]), {}, "key: .* column 'id', found 1 there twice"),
        (FLAWLESS.assign(id=[1, None, *REST]), {}, "key: .* column 'id'"),
        (FLAWLESS.assign(id=["a", *["b"] * 599]), {}, "key: .* column 'id', found 598 there twice"),
        (
            FLAWLESS.assign(id=[True, *[False] * 599]),
            {},
            "key: expected whole numbers or text in column 'id', found Boolean",
        ),
        (
            FLAWLESS.assign(pay=[1.5, None, *REST]),
            {},
            "column 'pay': 1 values are missing or infinite; fill them, or leave the column out",
        ),
        (FLAWLESS.assign(pay=[1.5, np.inf, *REST]), {}, "column 'pay': 1 values are missing or infinite"),
        (
            FLAWLESS.assign(pay=[1.5, None, None, *REST][:20] * 30),
            {},
            "column 'pay': 60 values are missing or infinite",
        ),
        (FLAWLESS.assign(sex=["1.5", *["2"] * 599]), {}, "column 'sex' holds numbers as text"),
        (
            FLAWLESS.assign(name=[f"name {number % 300}" for number in range(600)]),
            {},
            "column 'name' has more than 255 different values; group them, or leave the column out",
        ),
        (FLAWLESS[["id"]].head(0), {}, "0 rows are too few"),
        (FLAWLESS, {"key": "no"}, "key: no column 'no'"),
        (FLAWLESS, {"key": None}, "key: expected a column"),
        (FLAWLESS, {"split": "random", "key": None}, "split: expected 'hash'"),
        (FLAWLESS, {"train": [True, False]}, "key: expected a column .* without train"),
    ],
)
@pytest.mark.parametrize("to_engine", ["polars lazy", "duckdb"], indirect=True)
def test_flaws_are_named_with_their_column(to_engine, frame, options, said):
    with pytest.raises(ValueError, match=said):
        DataSource(to_engine(frame), **{"split": "hash", "key": "id"} | options)


@pytest.mark.parametrize(
    ("column", "looked_at", "said"),
    [
        ("sex", SEX, "column 'sex': found 'm', which it did not have before"),
        ("gone", Code("gone", 1), "columns gone: the engine could not count"),
    ],
)
@pytest.mark.parametrize("to_engine", ["pandas", "polars", "arrow", "duckdb", "spark connect"], indirect=True)
def test_a_column_that_changes_or_is_gone_is_named(table, column, looked_at, said):
    changed = table.among(HALF, 0)
    changed._codes = changed._codes | {column: {"f": 0}}
    with pytest.raises(EngineError, match=said):
        changed.tabulate([(looked_at,)])


# a cluster of Spark


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A session of a master with two workers on this machine, and the processes of the workers."""
    pyspark = pytest.importorskip("pyspark", reason="the extra spark-test is not installed")
    if shutil.which("java") is None:
        pytest.skip("there is no Java")
    home = Path(pyspark.__file__).parent
    for name, value in {"SPARK_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}.items():
        monkeypatch.setenv(name, str(value))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    master, worker = f"spark://127.0.0.1:{port}", ("-c", "1", "-m", "700m", "-d", str(tmp_path))
    options = {
        "spark.executor.memory": "512m",
        "spark.driver.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
    }
    with (tmp_path / "cluster.log").open("w") as log:
        started = [
            subprocess.Popen(
                [
                    home / "bin" / "spark-class",
                    f"org.apache.spark.deploy.{name}",
                    *arguments,
                    *("--host", "127.0.0.1", "--webui-port", "0"),
                ],
                stdout=log,
                stderr=log,
                cwd=tmp_path,
                start_new_session=True,
            )
            for name, *arguments in (("master.Master", "--port", port), *[("worker.Worker", *worker, master)] * 2)
        ]
        try:
            session = pyspark.sql.SparkSession.builder.master(master).config(map=options).getOrCreate()
            yield session, started[1:]
            session.stop()
        finally:
            for process in started:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_lost_worker_changes_nothing(cluster, tmp_path, monkeypatch):
    (session, workers), frame = cluster, people(20_000)[["id", "sex", "age", "offer"]]
    for number, part in enumerate(np.array_split(np.arange(20_000), 4)):
        frame.iloc[part].to_parquet(tmp_path / f"part{number}.parquet")
    tabulate, calls = EngineTable.tabulate, []

    def and_kill(self, keys_list):
        calls.append(keys_list)
        if len(calls) == 3:
            threading.Timer(0.3, os.killpg, (workers[0].pid, signal.SIGKILL)).start()
        return tabulate(self, keys_list)

    monkeypatch.setattr(EngineTable, "tabulate", and_kill)
    options = {"looked_at": Investigation("sex", "offer", max_depth=2)}
    found = reported(session.read.parquet(str(tmp_path / "part*.parquet")), **options)[0]
    assert workers[0].poll() is not None and len(calls) > 4
    pd.testing.assert_frame_equal(found, reported(frame, **options)[0])

import numpy as np
import pandas as pd
from audited import finding, people
from hypothesis import given
from hypothesis import strategies as st

from fairlab.auditing.evidence import binned, shown_rows


def test_by_default_no_label_no_exact_number_and_no_rare_value_is_shown():
    table = people()
    of = finding(table, evidence=table.drop("p3").head(10))
    shown = shown_rows(of, table, "binned")
    assert shown.index.tolist() == list(range(6))
    assert not set(map(str, table["age"])) & set(shown["age"])
    assert shown["sex"].tolist() == of.evidence["sex"].head(6).tolist()
    rare = shown_rows(finding(table), table, "binned")
    assert rare.columns.tolist() == ["age", "sex"], "one astronaut: the job of six people is not shown"


@given(n=st.integers(30, 200), seed=st.integers(0, 99), k=st.integers(1, 4))
def test_each_row_that_is_shown_is_like_five_people_in_the_columns_that_are_shown(n, seed, k):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({f"x{i}": rng.integers(0, 3 + 40 * (i % 2), n) for i in range(k)}).assign(
        sex=rng.choice(["f", "m", "x"], n, p=[0.5, 0.45, 0.05])
    )
    shown = shown_rows(finding(table), table, "binned")
    if shown is None:
        assert (table["sex"].iloc[:6].map(table["sex"].value_counts()) < 10).any()
        return
    everyone = pd.DataFrame({name: binned(table[name], table[name]) for name in shown})
    for row in shown.itertuples(index=False):
        assert (everyone == list(row)).all(axis=1).sum() >= 5


def test_the_people_of_a_subgroup_are_shown_on_request_alone():
    table = people()
    subgroup = finding(table, where="age < 30")
    assert shown_rows(subgroup, table, "binned") is None
    assert len(shown_rows(subgroup, table, "all")) == 10


def test_nothing_or_everything_on_request():
    table = people()
    assert shown_rows(finding(table), table, "none") is None
    everything = shown_rows(finding(table), table, "all")
    assert everything["row"].tolist() == [f"p{i}" for i in range(10)]
    assert everything["age"].tolist() == table["age"].head(10).tolist()


def test_generated_inputs_have_no_labels_and_are_binned_like_people():
    table = people()
    made = table.head(3).reset_index(drop=True)
    made.attrs["generated"] = True
    of = finding(table, evidence=made)
    assert "row" not in shown_rows(of, table, "all")
    assert not set(map(str, table["age"])) & set(shown_rows(of, table, "binned")["age"])


def test_numbers_become_ranges_between_quintiles_that_do_not_tell_the_extremes():
    everyone = pd.Series(range(1, 101))
    words = binned(pd.Series([1, 20, 21, 50, 80, 100]), everyone).tolist()
    assert words == ["up to 20", "up to 20", "20 to 40", "40 to 60", "60 to 80", "above 80"]


def test_few_valued_numbers_booleans_and_missing_values_keep_their_names():
    few, ages = pd.Series([0, 1] * 50), pd.Series([np.nan, *range(100)])
    flags = pd.Series([True, None], dtype="boolean")
    assert binned(few.head(2).astype(float), few).tolist() == ["0", "1"], "whatever type the evidence has"
    assert binned(flags, pd.Series([True, False] * 50)).tolist() == ["True", "(missing)"]
    assert binned(ages, ages).iloc[0] == "(missing)"


def test_a_column_that_the_table_does_not_have_is_binned_by_itself():
    table = people()
    evidence = table.head(10).assign(counterpart=[f"p{i}" for i in range(10, 20)])
    evidence["other sex"], evidence["its score"], evidence["role"] = "man", 0.7318, "person"
    shown = shown_rows(finding(table, evidence=evidence), table, "binned")
    # Row labels of other people are labels, too; another value of a column is binned like the column.
    names = {"counterpart": "(rare)", "other sex": "man", "role": "person", "its score": "about 0.7"}
    assert {name: set(shown[name]) for name in names} == {name: {value} for name, value in names.items()}

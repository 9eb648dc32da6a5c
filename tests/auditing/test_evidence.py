import numpy as np
import pandas as pd
from audited import finding, people

from fairlab.auditing.evidence import binned, shown_rows


def test_by_default_no_label_no_exact_number_and_no_rare_value_is_shown():
    table = people()
    shown = shown_rows(finding(table), table, "binned")
    assert shown.index.tolist() == list(range(6))
    assert not set(map(str, table["age"])) & set(shown["age"])
    assert shown["job"].tolist()[3] == "(rare)"
    assert shown["sex"].tolist() == table["sex"].head(6).tolist()


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

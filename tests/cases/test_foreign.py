from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from fairlab import Case, audit
from fairlab.cases.foreign import plain_table

N = 400
BORN = pd.Series(pd.Timestamp("1950-01-01") + pd.to_timedelta(np.arange(N) * 50, unit="D"))
COLUMNS = {
    "dates and times": BORN + pd.Timedelta(hours=7, minutes=3),
    "dates of a zone": BORN.dt.tz_localize("Europe/Paris"),
    "dates of Python": pd.Series(BORN.dt.date.tolist(), dtype=object),
    "dates, some missing": BORN.where(BORN.dt.year != 1960),
    "decimals": pd.Series([Decimal(k) / 100 for k in range(N)], dtype=object),
    "decimals, some missing": pd.Series([None if k % 9 == 0 else Decimal(k) / 8 for k in range(N)], dtype=object),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_methods_get_numbers_and_the_model_what_was_in_the_table(name):
    column, seen = COLUMNS[name], []
    table = pd.DataFrame({"sex": np.tile(["f", "m"], N // 2), "value": column})
    middle = column.dropna().sort_values().iloc[N // 2]

    def model(rows):
        seen.append(rows["value"])
        return [bool(value > middle) if value == value and value is not None else False for value in rows["value"]]

    case = Case(model, table, sensitive_features="sex")
    assert pd.api.types.is_numeric_dtype(case.table["value"])
    report = audit(case, methods=["rates", "themis"], budget=2_000, progress=False)
    assert report.verdict == "no difference found"
    pd.testing.assert_series_equal(seen[0], table.drop_duplicates(ignore_index=True)["value"])
    kinds = {type(value) for value in column.dropna()}
    assert {type(value) for values in seen for value in values.dropna()} == kinds
    assert (case.decide(table) == model(table)).all()


def test_plain_tables_stay_as_they_are():
    table = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    assert plain_table(table)[1] == {}
    pd.testing.assert_frame_equal(plain_table(table)[0], table)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_tables_of_other_libraries_come_in(library):
    module = pytest.importorskip(library)
    pytest.importorskip("pyarrow")
    columns = {"sex": ["f", "m"] * 50, "points": list(range(100))}
    table = module.DataFrame(columns) if library == "polars" else module.table(columns)
    case = Case(lambda rows: rows["points"] > 40, table, sensitive_features="sex")
    assert case.table["points"].tolist() == columns["points"]
    assert case.decide().sum() == 59

import dataclasses

import pandas as pd
import pytest

from fairlab.data import DataError, Dataset, Provenance


@pytest.fixture
def parts():
    return {
        "features": pd.DataFrame({"x": [1.0, 2.0], "sex": ["f", "m"]}),
        "target": pd.Series(["no", "yes"], name="y"),
        "sensitive_features": pd.DataFrame({"sex": ["f", "m"]}),
        "positive_label": "yes",
        "privileged_group": {"sex": "m"},
        "encoding": {"sex": ("f", "m")},
        "provenance": Provenance("toy", "real", "0" * 64, 2, {"toy/a.csv": "1" * 64}, "Anon <1999>"),
    }


def test_a_surrogate_says_so_in_one_line(parts):
    parts["provenance"] = dataclasses.replace(parts["provenance"], source="surrogate", caveat="no <b> is kept")
    dataset = Dataset(**parts)
    assert repr(dataset).splitlines()[-1].strip() == dataset.warning == "surrogate: fallback data, not real people"
    assert dataset.warning in dataset._repr_html_()
    assert "Inaccurate: no &lt;b&gt; is kept." in dataset._repr_html_()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": pd.Series(["no"])}, "toy: features and target differ in their index; they have 2 and 1 rows"),
        ({"target": pd.Series(["no", "yes"], index=[1, 2])}, "features and target differ in their index"),
        ({"features": pd.DataFrame([[1, 2], [3, 4]], columns=["x", "x"])}, "features has columns twice: x"),
        ({"privileged_group": {"race": "a"}}, "privileged groups for race, sensitive features are sex"),
    ],
)
def test_parts_that_do_not_fit(parts, change, message):
    with pytest.raises(DataError, match=message):
        Dataset(**parts | change)

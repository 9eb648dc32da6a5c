import numpy as np
import pytest

from fairlab import benchmarks
from fairlab.benchmarks import fairtest


@pytest.mark.filterwarnings("ignore::fairlab.data.errors.SurrogateWarning")
def test_fairtest_quick():
    rows = {
        row.name: row
        for name in ("fairtest_adult", "fairtest_million", "fairtest_growth")
        for row in benchmarks.discover()[name](quick=True)
    }
    assert {"fairtest_adult_seconds", "fairtest_million_seconds", "fairtest_train_depth_5_seconds"} <= set(rows)
    assert all(row.value > 0 for row in rows.values() if "is not installed" not in row.note)
    assert rows["fairtest_million_peak_gb"].value < 4


def test_users_with_more_attributes():
    users = fairtest.with_attributes(500, 16)
    assert users.shape == (500, 18)
    assert sum(dtype.kind == "f" for dtype in users.dtypes if isinstance(dtype, np.dtype)) == 6

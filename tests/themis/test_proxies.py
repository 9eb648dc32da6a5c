import numpy as np
import pandas as pd
import pytest

from fairlab.cases.case import Case
from fairlab.themis.proxies import PEOPLE, proxies_of, strengths_of_proxies


def case_of(n):
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], n)
    table = pd.DataFrame(
        {
            "sex": sex,
            "race": rng.choice(["a", "b"], n),
            "title": np.where(sex == "f", "Ms", "Mr"),
            "height": rng.normal(165, 6, n) + 20 * (sex == "m"),
            "district": rng.choice(list("xyz"), n),
        }
    )
    return Case(
        lambda rows: rows["height"] > 170, table, sensitive=["sex", "race"], features=["title", "height", "district"]
    )


@pytest.mark.parametrize("n", [500, PEOPLE + 500])
def test_columns_that_tell_about_another(n):
    case = case_of(n)
    strengths = strengths_of_proxies(case, "sex")
    assert strengths.index.tolist() == ["title", "height", "district"]
    assert strengths["title"] == pytest.approx(1)
    assert 0.1 < strengths["height"] < 0.9
    assert abs(strengths["district"]) < 0.05
    assert proxies_of(case, "sex") == ("title", "height")
    assert proxies_of(case, "race") == ()

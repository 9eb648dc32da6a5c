"""What notebooks say of committed figures beside their rows is what the numbers of these figures say."""

import json

import pandas as pd
from scipy.stats import ttest_ind

from fairlab.data.project import project


def text_of(name):
    cells = json.loads((project().root / "notebooks" / f"{name}.ipynb").read_text("utf-8"))["cells"]
    return " ".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown").replace("\n", " ")


def test_how_often_the_poorer_pay_more_among_black_men_in_new_york():
    prices = pd.read_csv(project().figures / "fairtest" / "figure-2.csv").query("prices == 'as_published'")
    drawn = prices[prices["context"] == "sub2"]
    n_more = (drawn["below 50K dollars"] > drawn["50K dollars or more"]).sum()
    assert f"the poorer pay more in {n_more} of {len(drawn)} draws" in text_of("fairtest/staples")


def test_what_retraining_does_beside_training_on_with_nothing_added():
    numbers = pd.read_csv(project().figures / "adf" / "table-10.csv", index_col=0)
    before, anew = (
        numbers[numbers["series"] == s].groupby("benchmark")["share"].mean() for s in ("before", "trained anew")
    )
    blind, seeing = (
        numbers[numbers["series"] == s].set_index(["benchmark", "trial", "added"])["share"].unstack("added")
        for s in ("after, voters do not see it", "after")
    )

    def against_nothing(shares, method):
        """Return by benchmark the difference of mean shares and Welch's p-value."""
        return {
            name: (
                of[method].mean() - of["nothing"].mean(),
                ttest_ind(of[method], of["nothing"], equal_var=False).pvalue,
            )
            for name, of in shares.groupby("benchmark")
        }

    adf, aequitas = against_nothing(blind, "adf"), against_nothing(blind, "aequitas")
    assert all(difference < 0 for difference, _ in adf.values()) and sum(p < 0.01 for _, p in adf.values()) == 5
    assert all(difference < 0 for difference, _ in aequitas.values())
    clear = {name: difference for name, (difference, p) in against_nothing(seeing, "adf").items() if p < 0.01}
    assert {name for name in clear if clear[name] < 0} == {"bank.age", "credit.age"}
    assert {name for name in clear if clear[name] > 0} == {"credit.gender"}
    lower = [(anew < shares["adf"].groupby("benchmark").mean()).sum() for shares in (seeing, blind)]
    assert lower == [3, 2]
    change = seeing["nothing"].groupby("benchmark").mean() / before - 1
    assert ((change < -0.05).sum(), (change > 0.05).sum()) == (2, 2)
    said = text_of("adf/retraining")
    assert "on all six benchmarks if voters do not see the sensitive feature, on five with p < .01" in said
    assert "three of the six benchmarks if voters see everything, on two if they do not see the feature" in said

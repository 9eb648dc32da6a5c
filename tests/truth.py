"""How often statements about generated models hold: counts beside the stated shares, kept in ``docs/truth``.

``PYTHONPATH=tests python tests/<method>/test_truth.py --write`` writes those of a method.
"""

import sys

import pandas as pd
from scipy.stats import binom

from fairlab.data.project import project

FOLDER = project().docs / "truth"


def tabulate(answers):
    """Return counts by statement, from triples: a statement, whether it held for a model, the stated share."""
    groups = pd.DataFrame(answers, columns=["statement", "held", "stated"]).groupby("statement", sort=False)
    table = groups.agg(models=("held", "size"), held=("held", "sum"), stated=("stated", "first")).astype({"held": int})
    table.insert(2, "share", (table["held"] / table["models"]).round(4))
    return table.reset_index()


def check(table):
    """Each statement holds at least as often as stated, up to a chance of one in a thousand."""
    fewer = table["held"] < binom.ppf(0.001, table["models"], table["stated"])
    assert not fewer.any(), table[fewer].to_string()


def check_committed(method, table):
    """The counts of a method agree with the statements and equal the committed counts."""
    check(table)
    pd.testing.assert_frame_equal(table, pd.read_csv(FOLDER / f"{method}.csv"))


def main(method, count):
    """Print the counts of a method, and write them if asked to."""
    table = count()
    print(table.to_string())
    if "--write" in sys.argv:
        table.to_csv(FOLDER / f"{method}.csv", index=False)

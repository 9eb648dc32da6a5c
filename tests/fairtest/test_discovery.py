import numpy as np
import pandas as pd
import pytest

from fairlab import fairtest
from fairlab.fairtest import DataSource, Discovery


def test_discovery_finds_and_tests_labels():
    rng = np.random.default_rng(1)
    group = rng.integers(2, size=1_000)
    data = pd.DataFrame({f"tag {j}": (rng.random(1_000) < 0.2 + 0.4 * group * (j == 3)).astype(int) for j in range(8)})
    data["group"] = np.where(group, "b", "a")
    source = DataSource(data)
    labels = [f"tag {j}" for j in range(8)]
    investigation = Discovery(source, "group", labels, top_k=3, context=[])
    fairtest.investigate(investigation)
    [finding] = investigation.findings_["group"]
    assert finding.associations[0].hypothesis.part == "tag 3"
    assert [a.p_value <= 0.05 for a in finding.associations] == [True, False, False]
    assert finding.effect == pytest.approx(np.mean([a.effect for a in finding.associations]))
    assert finding.is_significant
    table = fairtest.label_table(finding)
    assert table.loc["tag 3", "a"] < table.loc["tag 3", "b"]
    with pytest.raises(ValueError, match="a Discovery takes no explanatory attribute"):
        investigation.with_explanatory("group")


def test_labels_that_nobody_has(people):
    data = people.assign(tag=0, other=0, some=(people["age"] > 40).astype(int))
    with pytest.raises(ValueError, match="output: each of 2 labels has one value in the training set"):
        Discovery(DataSource(data), "gender", ["tag", "other"])
    investigation = Discovery(DataSource(data), "gender", ["tag", "some"], context=[])
    fairtest.investigate(investigation)
    tests = {a.hypothesis.part: a for a in investigation.findings_["gender"][0].associations}
    assert tests["tag"].p_value == 1


def test_discovery_needs_two_groups_and_labels(source):
    with pytest.raises(ValueError, match="metric REG needs two categories; column 'race' has 3"):
        Discovery(source, "race", ["offer"])
    with pytest.raises(ValueError, match="metric REG needs categories; column 'age' holds numbers"):
        Discovery(source, "gender", ["age"])
    with pytest.raises(ValueError, match="output: expected a column, found none"):
        Discovery(source, "gender", [])

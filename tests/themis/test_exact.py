from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from fairlab.cases import CaseError, Schema
from fairlab.papers.themis.programs import subsets
from fairlab.themis import DomainTooLargeError, causal_score, group_score, output_table, read_settings

# All programs over two to four characteristics of two or three values.
PROGRAMS = arrays(bool, array_shapes(min_dims=2, max_dims=4, min_side=2, max_side=3))


def test_red_men(red_men):
    table = output_table(*red_men[::-1])
    assert table.shape == (2, 4)
    assert [group_score(table, positions) for positions in ((0,), (1,), (0, 1))] == [0.25, 0.5, 1]
    assert [causal_score(table, positions) for positions in ((0,), (1,), (0, 1))] == [0.25, 0.5, 1]
    balanced = np.eye(2)  # section 2: green people get the loan when young, purple ones when old
    assert (group_score(balanced, 0), causal_score(balanced, 0)) == (0, 1)


@settings(deadline=None)
@given(PROGRAMS)
def test_definitions_by_brute_force(table):
    inputs = list(product(*map(range, table.shape)))
    for positions in subsets(range(table.ndim)):
        groups, changed = {}, []
        for k in inputs:
            groups.setdefault(tuple(k[p] for p in positions), []).append(table[k])
            twins = (j for j in inputs if all(j[i] == k[i] for i in range(table.ndim) if i not in positions))
            changed.append(any(table[j] != table[k] for j in twins))
        shares = [np.mean(outputs) for outputs in groups.values()]
        assert group_score(table, positions) == pytest.approx(max(shares) - min(shares))
        assert causal_score(table, positions) == pytest.approx(np.mean(changed))
        assert group_score(table, positions) <= causal_score(table, positions) + 1e-12  # theorem 4.3


@settings(deadline=None)
@given(PROGRAMS)
def test_supersets_score_at_least_as_high(table):  # theorems 4.1 and 4.2
    for score in (group_score, causal_score):
        scores = {positions: score(table, positions) for positions in subsets(range(table.ndim))}
        for small, large in product(scores, scores):
            if set(small) <= set(large):
                assert scores[small] <= scores[large] + 1e-12


@settings(deadline=None)
@given(st.data())
def test_more_discrimination_means_more_pruning(data):  # theorem 5.1
    shape = data.draw(array_shapes(min_dims=2, max_dims=3, min_side=2, max_side=3))
    first, second = (data.draw(arrays(bool, shape)) for _ in range(2))
    threshold = data.draw(st.sampled_from([0.25, 0.5, 0.75]))
    for score in (group_score, causal_score):
        every = subsets(range(len(shape)))
        scores = [{positions: score(table, positions) for positions in every} for table in (first, second)]
        if all(scores[0][positions] >= scores[1][positions] for positions in every):
            pruned = [
                {large for large in every for small in every if set(small) < set(large) and known[small] >= threshold}
                for known in scores
            ]
            assert pruned[0] >= pruned[1]


def test_a_domain_too_large_to_enumerate():
    schema = Schema.from_dict({f"x{i}": range(100) for i in range(5)})
    with pytest.raises(DomainTooLargeError, match="10,000,000,000 inputs, more than 10,000,000: estimate"):
        output_table(lambda inputs: pytest.fail("was run"), schema)


SETTINGS = """<settings>
  <name>loan</name><command>python loan.py</command><seed>42</seed>
  <inputs>
    <input><name>sex</name><type>categorical</type>
      <values><value>Male</value><value> Female </value></values></input>
    <input><name>age</name><type>continuousInt</type>
      <bounds><lowerbound>18</lowerbound><upperbound>20</upperbound></bounds></input>
  </inputs>
</settings>"""


def test_the_upper_bound_is_included(tmp_path):
    path = tmp_path / "settings.xml"
    path.write_text(SETTINGS)
    assert read_settings(path).to_dict() == {"sex": ["Male", "Female"], "age": {"low": 18, "high": 20}}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("continuousInt", "float", "input 'age' has type 'float'"),
        ("<upperbound>20</upperbound>", "", "lacks 'upperbound'"),
        ("<lowerbound>18", "<lowerbound>young", "lowerbound is 'young', expected a whole number"),
        ("<lowerbound>18", "<lowerbound>30", "low 30 is above high 20"),
        ("<value>Male</value><value> Female </value>", "", "'sex': expected at least one value, found none"),
        ("<name>age</name>", "<name>sex</name>", "two inputs are named 'sex'"),
        ("</settings>", "", "settings.xml: not XML"),
    ],
)
def test_bad_settings(tmp_path, old, new, message):
    path = tmp_path / "settings.xml"
    path.write_text(SETTINGS.replace(old, new))
    with pytest.raises(CaseError, match=message):
        read_settings(path)

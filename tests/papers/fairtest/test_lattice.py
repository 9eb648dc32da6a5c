import numpy as np
import pandas as pd
import pytest

from fairlab.fairtest import DataSource, Investigation
from fairlab.papers.fairtest import lattice
from fairlab.statistics import bonferroni_level

NAMES = {
    "income": ["state", "gender", "race", "income", "price"],
    "race": ["state", "gender", "income", "race", "price"],
}


@pytest.fixture(scope="module")
def shop():
    """Users of whom black ones in one state pay more if they are poor, and men in another whatever they earn."""
    rng = np.random.default_rng(1)
    n = 30_000
    users = pd.DataFrame(
        {
            "state": rng.choice(list("ABCDEFG"), n, p=[0.4, 0.2, 0.2, 0.1, 0.06, 0.03, 0.01]),
            "gender": rng.choice(["F", "M"], n),
            "race": rng.choice(["asian", "black", "white"], n, p=[0.1, 0.3, 0.6]),
            "income": rng.choice(["high", "low"], n),
        }
    )
    high = 0.1 + 0.1 * ((users["state"] == "B") & (users["race"] == "black") & (users["income"] == "low"))
    high += 0.1 * ((users["state"] == "D") & (users["gender"] == "M") & (users["race"] != "asian"))
    return users.assign(price=np.where(rng.random(n) < high, "high", "low"))


def counted(columns, names):
    """Return counts of people by some columns."""
    shape = [len(columns[name].categories) for name in names]
    cells = np.ravel_multi_index([columns[name].values for name in names], shape)
    return np.bincount(cells, minlength=np.prod(shape)).reshape(shape)


def test_contexts_tests_and_report_are_those_of_the_library(shop):
    source = DataSource(shop, variant="published")
    investigation = Investigation(["income", "race"], "price", min_leaf_size=50).fit(source)
    columns = source.training_set(source.names)
    with source.lend_test_set() as lent:
        test = {name: counted(lent, names) for name, names in NAMES.items()}
    source.remaining_ = 1
    report = investigation.test()

    contexts = {
        name: lattice.find_contexts(counted(columns, names)[None], min_leaf_size=50)[0] for name, names in NAMES.items()
    }
    corrected = lattice.test_contexts([(test[name], contexts[name]) for name in NAMES], np.random.default_rng(0))
    confidence_level = bonferroni_level(0.95, sum(map(len, contexts.values())))
    for (protected, names), p_values in zip(NAMES.items(), corrected, strict=True):

        def conditions(cell, names=names):
            return {f"{n}: {columns[n].categories[code]}" for n, code in zip(names, cell, strict=False) if code >= 0}

        section = report.section(protected)
        expected = [set(map(str, finding.node.conditions)) for finding in section.subgroups]
        assert [conditions(cell) for cell in contexts[protected]] == expected
        expected = [finding.association().p_value for finding in section.subgroups]
        assert list(p_values.values()) == pytest.approx(expected, rel=0.5, abs=0.05)  # those of few people are drawn
        p_values = dict(zip(p_values, expected, strict=True))
        reported = lattice.report_contexts(
            test[protected],
            contexts[protected],
            p_values,
            confidence_level=confidence_level,
            rng=np.random.default_rng(0),
        )
        expected = [set(map(str, finding.node.conditions)) for finding in section.reported]
        assert [conditions(cell) for cell in reported] == expected
        bounds = [(finding.association().low, finding.association().high) for finding in section.reported]
        np.testing.assert_allclose(list(reported.values()), bounds, rtol=0.2, atol=0.002)  # one of the lowest draws
    assert len(section.reported) > 1
    assert len(contexts["income"]) > 5


def test_any_sums_up_the_lines_of_each_attribute():
    counts = np.arange(2 * 3 * 4).reshape(2, 3, 2, 2)
    every = lattice.with_any(counts, 2)
    assert every.shape == (3, 4, 2, 2)
    np.testing.assert_array_equal(every[0, lattice.ANY], counts[0].sum(axis=0))
    np.testing.assert_array_equal(every[lattice.ANY, lattice.ANY], counts.sum(axis=(0, 1)))


def test_a_part_is_a_random_draw_without_replacement():
    counts, rng = np.array([[10, 0], [30, 61]]), np.random.default_rng(0)
    parts = np.stack([lattice.draw_part(counts, 33, rng) for _ in range(2_000)])
    assert (parts.sum(axis=(1, 2)) == 33).all()
    assert (parts <= counts).all()
    np.testing.assert_allclose(parts.mean(axis=0), counts * 33 / 101, atol=0.2)
    assert parts[:, 1, 0].var() == pytest.approx(33 * (30 / 101) * (71 / 101) * (68 / 100), rel=0.1)


def test_tiny_p_values_are_raised_before_correction_as_in_the_library():
    apart = np.array([[4_000, 0], [0, 4_000]])
    [p_values] = lattice.test_contexts([(np.stack([apart, apart]), [(0,), (1,)])], None)
    assert list(p_values.values()) == [2e-180, 2e-180]

import numpy as np

from fairlab.benchmarks import themis
from fairlab.cases import Schema


def test_rows_of_small_sizes():
    rows = {row.name: row for part in (themis.throughput, themis.growth) for row in part(quick=True)}
    assert rows["themis_tests_per_second"].value > 0
    assert "10,000 tests" in rows["themis_tests_per_second"].note
    assert [name for name in rows if name.startswith("themis_search_")] == [
        "themis_search_2_characteristics_seconds",
        "themis_search_3_characteristics_seconds",
    ]


def test_a_process_for_each_test_answers_alike_and_takes_longer():
    rows = {row.name: row for row in themis.process_per_test(quick=True)}
    speed_up = rows["themis_vectorised_vs_process_per_test"]
    assert "12 distinct inputs" in speed_up.note
    assert speed_up.value == speed_up.baseline / speed_up.ours


def test_the_vectorised_program_is_the_other_one():
    schema = Schema.from_dict({"sex": ["Male", "Female"], "race": ["Red", "Green"]})
    inputs = schema.decode(schema.assignments((0, 1)))
    assert np.array_equal(themis.red_men(inputs), [True, False, False, False])

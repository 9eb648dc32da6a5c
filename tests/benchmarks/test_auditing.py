import numpy as np

from fairlab.benchmarks import auditing


def test_the_import_takes_under_a_second():
    assert auditing.import_seconds() < 1


def test_the_function_prefers_men():
    people = auditing.generated(500)
    as_men, as_women = (auditing.decide(people.assign(sex=sex)) for sex in ("man", "woman"))
    assert np.all(as_men >= as_women)
    assert as_men.sum() > as_women.sum()

import numpy as np

from fairlab.benchmarks import auditing


def test_rows_of_small_sizes(monkeypatch):
    monkeypatch.setattr(auditing, "in_fresh_process", lambda work, *_: (work(300, 3_000), 5e8))
    rows = {row.name: row for row in auditing.audit(quick=True)}
    assert list(rows) == [
        "audit_adult_seconds",
        "audit_queries",
        "audit_peak_gb",
        "audit_function_seconds",
        "import_seconds",
    ]
    assert 300 <= rows["audit_queries"].value <= 3_000
    assert rows["audit_peak_gb"].value == 0.5


def test_the_import_takes_under_a_second():
    assert auditing.import_seconds() < 1


def test_the_function_prefers_men():
    people = auditing.generated(500)
    as_men, as_women = (auditing.decide(people.assign(sex=sex)) for sex in ("man", "woman"))
    assert np.all(as_men >= as_women)
    assert as_men.sum() > as_women.sum()

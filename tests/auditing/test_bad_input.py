"""What does not fit ends in an error that names the argument, what was expected and what was found."""

import pytest
from audited import people, report

from fairlab import Case, audit, compare
from fairlab.auditing.loading import command_model, load_model, read_table

CASE = Case(lambda rows: rows["age"] > 40, people(50), sensitive_features="sex")
AS_NUMBERS = Case(lambda rows: 100 * rows["age"] + 0.5, people(50), sensitive_features="sex")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: audit(people(50)), "case: expected a fairlab.Case, found DataFrame"),
        (lambda: audit(CASE, budget="10"), "budget: expected a positive integer, found '10'"),
        (lambda: audit(CASE, budget=1.5), "budget: expected a positive integer, found 1.5"),
        (lambda: audit(CASE, budget=-1), "budget: expected a positive integer, found -1"),
        (lambda: audit(CASE, budget=float("inf")), "budget: expected a positive integer, found inf"),
        (lambda: audit(CASE, methods=3), "methods: expected some of fliptest, .*, found 3"),
        (lambda: audit(CASE, methods=()), r"methods: expected some of fliptest, .*, found \(\)"),
        (lambda: audit(CASE, methods="flipest"), "methods: unknown method 'flipest'; did you mean 'fliptest'"),
        (lambda: audit(CASE, methods=[None]), "methods: unknown method 'none'"),
        (lambda: audit(CASE, confidence_level="95%"), "confidence_level: .* 0 and 1, found '95%'"),
        (lambda: audit(CASE, confidence_level=1), "confidence_level: .* 0 and 1, found 1"),
        (
            lambda: audit(CASE, confidence_level=float("nan")),
            "confidence_level: .* 0 and 1, found nan",
        ),
        (lambda: audit(CASE, random_state=-1), "random_state: expected an integer, at least 0, found -1"),
        (lambda: audit(CASE, random_state=None), "random_state: expected an integer, at least 0, found None"),
        (
            lambda: audit(CASE, methods="themis", proxies={"age": ["job"]}),
            "proxies: expected sensitive columns, sex, fo",
        ),
        (lambda: audit(CASE, methods="themis", proxies={"sex": ["hight"]}), "proxies: expected features of the model"),
        (lambda: compare(CASE, None), "case_b: expected a fairlab.Case, found NoneType"),
        (lambda: compare(people(), CASE), "case_a: expected a fairlab.Case, found DataFrame"),
        (
            lambda: compare(AS_NUMBERS, CASE),
            "case_a: expected decisions, found a model of numbers; give its case a thr",
        ),
        (lambda: compare(CASE, CASE, confidence_level=0), "confidence_level: .* 0 and 1, found 0"),
        (
            lambda: compare(CASE, CASE, confidence_level=None),
            "confidence_level: .* 0 and 1, found None",
        ),
        (lambda: report().to_html(3), "path: expected the name of a file, found 3"),
        (lambda: report().to_json(b"a.json"), "path: expected the name of a file, found b'a.json'"),
        (lambda: report().to_html(rows=None), "rows: expected one of none, binned, all, found None"),
        (lambda: report().to_json(rows="everything"), "rows: expected one of none, binned, all, found 'everything'"),
        (lambda: load_model("bank"), "model: expected module:name, a Keras file"),
        (lambda: load_model(":predict"), "model: expected module:name, a Keras file"),
        (lambda: load_model("bank.keras"), "model: there is no file bank.keras"),
        (lambda: command_model(""), "model: expected a command line, found an empty text"),
        (lambda: read_table("no such table.csv"), "table: there is no file no such table.csv"),
    ],
)
def test_the_error_names_the_argument(call, said):
    with pytest.raises((ValueError, TypeError), match=said):
        call()

"""The monitor does what its own OpenAPI document says, whatever is sent (schemathesis)."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from monitoring.streams import Monitor, decisions

schemathesis = pytest.importorskip("schemathesis")
from schemathesis.specs.openapi.checks import positive_data_acceptance  # noqa: E402

MODES = list(schemathesis.GenerationMode)


@pytest.fixture(scope="module")
def operations(tmp_path_factory):
    """All operations of a monitor with two investigations."""
    monitor = Monitor(f"sqlite:///{tmp_path_factory.mktemp('schema')}/monitor.db")
    for _ in range(2):
        monitor.send(monitor.register(), decisions(500))
    schema = schemathesis.openapi.from_asgi("/openapi.json", monitor.app)
    schema.config.update(headers={"Authorization": f"Bearer {monitor.tokens['admin']}"})
    return [found.ok() for found in schema.get_all_operations()]


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_answers_are_those_of_the_document(operations, mode):
    tried = 0
    for operation in operations:

        @given(operation.as_strategy(generation_mode=mode))
        @settings(max_examples=15, derandomize=True, suppress_health_check=list(HealthCheck), database=None)
        def answers(case):
            # What is registered says more of rows than a document can.
            case.call_and_validate(excluded_checks=[positive_data_acceptance])

        try:
            answers()
            tried += 1
        except Unsatisfiable:  # what takes no parameters cannot be called wrongly
            assert mode is schemathesis.GenerationMode.NEGATIVE
    assert tried >= 10

"""One course for all tests of a process."""

import pytest
from graded_labs import Grading


@pytest.fixture(scope="session")
def grading(tmp_path_factory):
    """Return a course with data and numbers of its own."""
    return Grading(tmp_path_factory.mktemp("course"))

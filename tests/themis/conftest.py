import numpy as np
import pytest

from fairlab.cases import Schema


@pytest.fixture
def red_men():
    """The example of Themis' repository: it discriminates against red men, and exact scores are known."""
    schema = Schema.from_dict({"sex": ["Male", "Female"], "race": ["Red", "Green", "Blue", "Purple"]})
    return schema, lambda inputs: ((inputs["sex"] == "Male") & (inputs["race"] == "Red")).to_numpy()


@pytest.fixture
def make_program():
    """Return a schema of given sizes and a program that looks its outputs up in a table."""

    def make(table):
        table = np.asarray(table)
        schema = Schema.from_dict({f"x{i}": range(size) for i, size in enumerate(table.shape)})
        return schema, lambda inputs: table[tuple(inputs.to_numpy().T)]

    return make

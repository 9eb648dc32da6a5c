import pytest

from fairlab.cases import Schema


@pytest.fixture
def red_men():
    """The example of Themis' repository: it discriminates against red men, and exact scores are known."""
    schema = Schema.from_dict({"sex": ["Male", "Female"], "race": ["Red", "Green", "Blue", "Purple"]})
    return schema, lambda inputs: ((inputs["sex"] == "Male") & (inputs["race"] == "Red")).to_numpy()

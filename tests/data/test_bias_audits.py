"""The notebook on published bias audits, run on the file itself where it is at hand."""

import nbformat
import papermill
import pytest

from fairlab.paths import project


@pytest.mark.slow
def test_the_notebook_runs_and_names_its_numbers(tmp_path, mirror):
    out = tmp_path / "out.ipynb"
    papermill.execute_notebook(
        project().notebooks / "bias_audits.ipynb", out, kernel_name="python3", progress_bar=False
    )
    outputs = [each for cell in nbformat.read(out, 4).cells for each in cell.get("outputs", [])]
    said = " ".join(each["data"].get("text/markdown", "") for each in outputs if "data" in each)
    assert "come out to the digit" in said
    assert "tables state people of unknown sex or race" in said
    assert any("image/png" in each.get("data", {}) for each in outputs)

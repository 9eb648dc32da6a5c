"""Every notebook runs, from the first cell to the last, and an experiment's run writes all that it declares."""

import pytest

from fairlab.data.project import project
from fairlab.suite.catalogue import experiment_names, other_notebooks, specification
from fairlab.suite.notebook import NotebookError, execute, run_experiment
from fairlab.suite.run import Run

pytestmark = pytest.mark.usefixtures("forked_kernels")


@pytest.fixture
def results(tmp_path_factory, monkeypatch):
    """One results folder for all notebooks and all test processes: what two of them take is computed once."""
    folder = tmp_path_factory.getbasetemp().parent / "smoke"
    monkeypatch.setenv("FAIRLAB_RESULTS", str(folder))
    return folder


# What must not pay for the import of TensorFlow: of FlipTest only the maps of Seguy et al. need it.
WITHOUT_TENSORFLOW = ("fairtest/", "themis/", "fliptest/")


@pytest.mark.parametrize("name", experiment_names())
def test_experiment(name, results):
    spec = specification(name)
    run = Run.read(run_experiment(spec, "smoke"))
    recorded = {(entry["artefact"], entry["id"]) for entry in run.records + run.claims + run.skipped}
    published = [spec.published.artefact(id) for id in spec.artefacts]
    expected = {(artefact.id, id) for artefact in published for id in [*artefact.values, *artefact.claims]}
    assert recorded == expected, "every published value and claim is recorded, or skipped with a reason"
    if name.startswith(WITHOUT_TENSORFLOW) and name != "fliptest/stability":
        assert not {"tensorflow", "keras", "torch"}.intersection(run.about["imported"])


@pytest.mark.parametrize(
    "notebook",
    [project().root / "notebooks" / f"{name}.ipynb" for name in other_notebooks()],
    ids=lambda path: path.stem,
)
def test_other_notebook(notebook, results, tmp_path):
    smaller = {"n_shoppers": 16_000, "look_every": 4_000, "n_streams": 1} if notebook.stem == "monitoring" else {}
    try:
        execute(notebook, tmp_path / "executed.ipynb", smaller)
    except NotebookError as error:
        if notebook.stem != "bias_audits" or "DataUnavailableError" not in str(error):
            raise
        pytest.skip("needs the audits, which do not come with fairlab and cannot be fetched here")

from fairlab.benchmarks import suite
from fairlab.paths import project
from fairlab.suite.notebook import code_of, notebook_parameters
from fairlab.suite.published import read_paper

ROOT = project().root


def test_overhead_is_what_one_notebook_more_costs(monkeypatch):
    ran = []

    def run(names, folder, *options, root=ROOT):
        for name in names:
            result = suite.Path(folder, "smoke", name)
            assert not result.exists()
            result.mkdir(parents=True)
        ran.append((len(names), options))
        return 100.0 if not options else 5.0 + (1.5 if root == ROOT else 0.5) * len(names)

    monkeypatch.setattr(suite, "run_seconds", run)
    monkeypatch.setattr(suite, "experiment_names", lambda: [*suite.LIGHT, "themis/scores"])
    rows = suite.batch(quick=False)
    names = ["reproduce_smoke_seconds", "notebook_overhead_seconds", "notebook_light_seconds"]
    assert {row.name: row.value for row in rows} == dict(zip(names, [100.0, 0.5, 1.5], strict=True))
    few, light, one = suite.FEW, len(suite.LIGHT), ("--jobs", "1")
    assert ran == [(light + 1, ()), (few, one), (light, one), (few, one), (suite.PLAIN, one)]
    ran.clear()
    assert {row.name: row.value for row in suite.batch(quick=True)} == dict(zip(names, [100.0, 0.5], strict=False))
    assert ran == [(few, ()), (few, one), (few + 1, one)]


def test_a_plain_notebook_has_what_an_experiment_needs(tmp_path):
    names = suite.plain_project(tmp_path)
    assert (tmp_path / "data_scripts" / "registry.yaml").exists()
    assert read_paper(tmp_path / "experiments" / "plain" / "published.yaml").key == "plain"
    for name in names:
        notebook = tmp_path / "notebooks" / f"{name}.ipynb"
        assert notebook_parameters(notebook) == {"experiment": name, "profile": "quick", "seed": 0}
        assert "compare()" in code_of(notebook)

import pandas as pd

from fairlab.suite.artefacts import missing_artefacts
from fairlab.suite.experiment import Experiment
from fairlab.suite.run import run_folder


def test_what_a_run_did_not_write_is_named(toy, capsys):
    experiment = Experiment("toy/mean", profile="smoke")
    experiment.table("figure-1", pd.DataFrame({"x": [0]}))
    experiment.compare()
    assert "nothing was written for table-1, figure-1" in capsys.readouterr().err, "a table is no figure"
    experiment = Experiment("toy/mean", profile="smoke")
    experiment.table("table-1", pd.DataFrame({"x": [0]}))
    experiment.run.skipped.append({"artefact": "figure-1", "id": "", "reason": "no numbers"})
    experiment.compare()
    assert missing_artefacts(run_folder("toy/mean", "smoke")) == []

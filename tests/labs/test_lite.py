"""The labs in a browser tab: what is missing is said in one line, and only labs that can run there are written."""

import subprocess
import sys

import pandas as pd
from lite_site import lite


def test_without_its_packages_no_site_is_made(tmp_path, capsys):
    lite.build(tmp_path / "none", tmp_path / "site")
    assert "has no Pyodide" in capsys.readouterr().out
    assert not (tmp_path / "site").exists()


def test_the_notebooks_have_no_answers(tmp_path):
    lite.write_notebooks(tmp_path / "files")
    texts = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "files").iterdir()}
    assert len(texts) == len(lite.LABS) + len(lite.MORE_NOTEBOOKS)
    assert [name for name, text in texts.items() if "BEGIN SOLUTION" in text or "HIDDEN" in text] == []
    assert {name for name, text in texts.items() if "YOUR CODE HERE" not in text} <= {*lite.MORE_NOTEBOOKS}


WITHOUT = """
import sys
absent = "ot numba tensorflow torch keras psutil pyarrow lzma pulp highspy pydantic pooch filelock click tqdm".split()
class Others:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in absent else self.finder.find_spec(name, path, target)
sys.meta_path[:] = map(Others, sys.meta_path)
"""


def test_a_table_is_audited_with_what_browsers_have(tmp_path):
    """In a process that cannot import what Pyodide does not have, the cell of the notebook gives the report."""
    people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": [k % 40 for k in range(400)]})
    people.assign(hired=(people["points"] > 20).map({True: "yes", False: "no"})).to_csv(tmp_path / "people.csv")
    run = lite.AUDIT.replace("fairlab.audit(", "report = fairlab.audit(")
    code = f"{WITHOUT}{run}\nprint(report._repr_html_(), report.skipped)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "tested on 400 people" in done.stdout and "POT, which is not installed here" in done.stdout

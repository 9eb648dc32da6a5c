"""The labs in a browser tab: what is missing is said in one line, and only labs that can run there are written."""

import hashlib
import json

from lite_site import lite


def test_without_its_packages_no_site_is_made_and_they_are_named(tmp_path, capsys):
    lite.build(tmp_path / "none", tmp_path / "site")
    assert "has no Pyodide" in capsys.readouterr().out
    digest = hashlib.sha256(b"wheel").hexdigest()
    packages = {name: {"file_name": f"{name}.whl", "sha256": digest, "depends": []} for name in lite.NEEDED}
    packages["open-blas"] = packages["numpy"] | {"file_name": "open-blas.zip"}
    packages["numpy"]["depends"] = ["Open_BLAS"]
    folder = tmp_path / "pyodide"
    folder.mkdir()
    (folder / "pyodide-lock.json").write_text(json.dumps({"packages": packages}))
    for name in set(lite.NEEDED) - {"scipy"}:
        (folder / f"{name}.whl").write_bytes(b"wheel")
    (folder / "pandas.whl").write_bytes(b"another file")
    for file in lite.CORE[:-1]:
        (folder / file).touch()
    for requirement in lite.MORE:
        (folder / f"{requirement.partition('<')[0].replace('-', '_')}-1-py3-none-any.whl").touch()
    (folder / "nbformat-1-py3-none-any.whl").unlink()
    lite.build(folder, tmp_path / "site")
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith("does not have nbformat, open-blas, pandas, scipy")
    assert not (tmp_path / "site").exists()


def test_the_notebooks_have_no_answers(tmp_path):
    lite.write_notebooks(tmp_path / "files")
    texts = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "files").iterdir()}
    assert len(texts) == len(lite.LABS) + 1
    assert not any("BEGIN SOLUTION" in text or "HIDDEN" in text for text in texts.values())
    assert all("YOUR CODE HERE" in text for name, text in texts.items() if name != "check")

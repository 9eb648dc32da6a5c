"""The program that makes the labs' site for a browser, which is no module of the package."""

import importlib.util

import pytest

from fairlab.data.project import project

pytest.importorskip("jupyterlite_pyodide_kernel")
_spec = importlib.util.spec_from_file_location("lite", project().labs / "lite" / "build.py")
lite = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(lite)

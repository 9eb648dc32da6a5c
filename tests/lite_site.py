"""The program that makes the labs' site for a browser, which is not a module of the package."""

import pytest

from fairlab.data.project import project
from fairlab.data.tables import load_script

pytest.importorskip("jupyterlite_pyodide_kernel")
lite = load_script(project().labs / "lite" / "build.py")

"""nbgrader's settings for the labs; run nbgrader in this folder."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from fairlab.labs.grading import AUTOGRADE, SANITIZE


def in_container(config):
    """Let nbgrader, in this folder, run the code of students by the kernel of ``container``."""
    sockets = tempfile.mkdtemp(prefix="labs-")  # short: the path of a socket has at most 107 letters
    atexit.register(shutil.rmtree, sockets, ignore_errors=True)
    config.KernelManager.transport = "ipc"
    config.KernelManager.connection_file = f"{sockets}/kernel.json"
    config.ExecutePreprocessor.kernel_name = "contained"
    os.environ["JUPYTER_PATH"] = os.pathsep.join([str(Path("container").resolve()), os.environ.get("JUPYTER_PATH", "")])


c = get_config()  # noqa: F821 (nbgrader has it)
c.CourseDirectory.course_id = "fairlab"
c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE"}
c.ClearSolutions.text_stub = "*Your answer here.*"
c.Autograde.sanitize_preprocessors = SANITIZE
c.Autograde.autograde_preprocessors = AUTOGRADE
c.ExecutePreprocessor.timeout = 60  # seconds for one cell
c.ExecutePreprocessor.extra_arguments = ["--log-level=ERROR"]
c.ExecutePreprocessor.kernel_name = "python3"  # whatever kernel a student used
# in_container(c)  # students' code sees neither the answers nor your files: see docs/labs.md

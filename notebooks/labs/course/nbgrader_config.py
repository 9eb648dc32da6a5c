"""nbgrader's settings for the labs; run nbgrader in this folder."""

import atexit
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from nbgrader.preprocessors import GetGrades
from nbgrader.server_extensions import formgrader

from fairlab.labs.gradebook import LateDays, LatePenalties, Platforms
from fairlab.labs.grading import AUTOGRADE, SANITIZE

CONTAINER = True  # where Docker or Podman runs, students' code sees neither the answers nor your files: docs/labs.md


def engine():
    """Return Docker or Podman, or None if neither is running."""
    found = (name for name in ("docker", "podman") if shutil.which(name))
    return next((name for name in found if not subprocess.run([name, "info"], capture_output=True).returncode), None)


def in_container(config, engine):
    """Let nbgrader, in this folder, run the code of students by the kernel of ``container``."""
    sockets = tempfile.mkdtemp(prefix="labs-")  # short: the path of a socket has at most 107 letters
    atexit.register(shutil.rmtree, sockets, ignore_errors=True)
    config.KernelManager.transport = "ipc"
    config.KernelManager.connection_file = f"{sockets}/kernel.json"
    config.ExecutePreprocessor.kernel_name = "contained"
    config.ExecutePreprocessor.startup_timeout = 1800  # seconds; the first time, the container is built
    os.environ["LABS_ENGINE"] = engine
    os.environ["JUPYTER_PATH"] = os.pathsep.join([str(Path("container").resolve()), os.environ.get("JUPYTER_PATH", "")])


c = get_config()  # noqa: F821 (nbgrader has it)
c.CourseDirectory.course_id = "fairlab"
c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE"}
c.ClearSolutions.text_stub = "*Your answer here.*"
c.Autograde.sanitize_preprocessors = SANITIZE
c.Autograde.autograde_preprocessors = AUTOGRADE
c.ExecutePreprocessor.timeout = 60  # seconds for one cell
c.ExecutePreprocessor.extra_arguments = ["--log-level=CRITICAL"]  # or a kernel that is ended tells of itself
c.ExecutePreprocessor.kernel_name = "python3"  # whatever kernel a student used
if CONTAINER and (found := engine()):
    in_container(c, found)

# Late days: each one, also one that has only begun, takes this part of the points, after so many that are free.
c.AssignLatePenalties.plugin_class = LateDays
c.LateDays.per_day = 0.1
c.LateDays.free_days = 0
c.GenerateFeedback.preprocessors = [LatePenalties, GetGrades, "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor"]
c.HTMLExporter.template_name, c.HTMLExporter.template_file = "labs", "labs.html.j2"
c.HTMLExporter.extra_template_basedirs = ["feedback_template", f"{Path(formgrader.__file__).parent}/templates"]
c.ExportApp.plugin_class = Platforms  # nbgrader export --to FOLDER

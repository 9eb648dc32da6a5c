"""Students' code that is graded in a container sees what the student handed in, and neither answers nor the network."""

import os
import subprocess
import sys
from itertools import pairwise

import nbformat
import pytest
from graded_labs import errors
from nbformat.v4 import new_code_cell

from fairlab.paths import project, write_text
from fairlab.suite.labs.course import build, card
from fairlab.suite.labs.masters import marks, read

KERNEL = project().labs / "course" / "container" / "kernels" / "contained" / "kernel.sh"
SPY = """\
import os, socket

own = open("own.csv").read()
for folder, within, files in os.walk("/"):
    within[:] = [name for name in within if folder != "/" or name not in ("lab", "proc", "sys", "dev")]
    for file in files:
        assert not file.endswith((".ipynb", ".db")) or "site-packages" in folder, os.path.join(folder, file)
try:
    socket.create_connection(("1.1.1.1", 53), timeout=3)
except OSError:
    print(own)"""


def has_image():
    try:
        return not subprocess.run(["docker", "image", "inspect", "fairlab-labs"], capture_output=True).returncode
    except OSError:
        return False


def test_a_container_is_given_the_sockets_and_what_was_handed_in(tmp_path):
    write_text(tmp_path / "docker", '#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (tmp_path / "docker").chmod(0o755)
    graded = tmp_path / "a course" / "autograded" / "anna" / "lab1-berkeley"
    graded.mkdir(parents=True)
    more = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = ["sh", KERNEL, "/tmp/labs-1/kernel.json"]
    answer = subprocess.run(command, cwd=graded, env=os.environ | more, capture_output=True, text=True, check=True)
    given = answer.stdout.splitlines()
    volumes = [value for option, value in pairwise(given) if option == "--volume"]
    handed_in = tmp_path / "a course" / "submitted" / "anna" / "lab1-berkeley"
    assert volumes == ["/tmp/labs-1:/tmp/labs-1", f"{handed_in}:/lab:ro"]
    assert given[given.index("--network") + 1] == "none"
    assert {"--rm", "--read-only"} < set(given)


@pytest.mark.slow
@pytest.mark.skipif(not has_image(), reason="needs Docker and the image of docs/labs.md")
def test_code_in_a_container_finds_no_answers_and_is_graded(tmp_path):
    lab = card("berkeley")
    made = build(tmp_path / "made", course=3, labs=[lab])
    course, file = made / "course", f"{lab.assignment}/berkeley.ipynb"
    configuration = (course / "nbgrader_config.py").read_text(encoding="utf-8")
    write_text(course / "nbgrader_config.py", configuration.replace("# in_container(c)", "in_container(c)"))
    submission, right = read(course / "release" / file), read(made / "solved" / file)
    for cell, answer in zip(submission.cells, right.cells, strict=True):
        cell.source = answer.source if marks(cell).get("solution") else cell.source
    submission.cells.append(new_code_cell(SPY))
    write_text(course / "submitted" / "anna" / file, nbformat.writes(submission))
    write_text(course / "submitted" / "anna" / lab.assignment / "own.csv", "mine")
    command = [sys.executable, "-m", "nbgrader", "autograde", lab.assignment]
    subprocess.run(command, cwd=course, check=True)
    graded = read(course / "autograded" / "anna" / file)
    assert errors(graded) == {}
    assert graded.cells[-1].outputs[0].text.strip() == "mine"

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {child!r}])
print(child.pid, flush=True)
time.sleep(60)
"""
CHILD = "import sys, time; from fairlab.suite import child_process; child_process.exit_with_parent(); "
CHILD += "print('tied', flush=True); {work}"


def is_gone(pid, seconds=2):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("work", ["time.sleep(60)", "sum(range(10**12))"])  # the second never lets a thread run long
def test_a_tied_process_ends_with_its_parent(work):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT.format(child=CHILD.format(work=work))], stdout=subprocess.PIPE, text=True
    )
    lines = {parent.stdout.readline().strip() for _ in range(2)}
    lines.remove("tied")
    (child,) = map(int, lines)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert is_gone(child)


ORPHAN = """
import os, subprocess, sys
slow = "import time; time.sleep(0.5); from fairlab.suite import child_process; "
slow += f"child_process.exit_with_parent({os.getpid()}); time.sleep(60)"
print(subprocess.Popen([sys.executable, "-c", slow]).pid, flush=True)
"""


def test_a_process_whose_parent_ends_before_it_is_tied_ends_too():
    done = subprocess.run([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, text=True, check=True)
    assert is_gone(int(done.stdout), seconds=20)


ORPHANED_FORK = """
import os, time
from fairlab.suite import child_process
child_process.exit_with_parent()
if not os.fork():
    child = os.fork()
    if child:
        print(child, flush=True)
        os._exit(0)
    time.sleep(0.5)
    child_process.exit_with_parent()
    time.sleep(60)
os.wait()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing can be forked")
def test_a_fork_knows_its_parent_even_if_that_has_ended():
    done = subprocess.run([sys.executable, "-c", ORPHANED_FORK], stdout=subprocess.PIPE, text=True, check=True)
    assert is_gone(int(done.stdout), seconds=20)


FORK_OF_A_FORK = """
import os
from fairlab.suite import child_process
child_process.exit_with_parent()
if not os.fork():  # which is not tied
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    child_process.exit_with_parent()
    print("lives", flush=True)
    os._exit(0)
os.wait()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing can be forked")
def test_a_fork_of_a_fork_that_is_not_tied_lives_with_it():
    done = subprocess.run([sys.executable, "-c", FORK_OF_A_FORK], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "lives\n"


def test_what_a_process_prints_goes_to_its_log(tmp_path):
    code = "import os, sys; from fairlab.suite import child_process; print('before'); "
    code += "child_process.redirect(sys.argv[1]); print('python', flush=True); os.write(2, b'C')"
    log = tmp_path / "a.log"
    log.write_text("earlier\n")
    answer = subprocess.run([sys.executable, "-c", code, str(log)], capture_output=True, text=True, check=True)
    assert (answer.stdout, answer.stderr) == ("before\n", "")
    assert log.read_text() == f"earlier\npython{os.linesep}C"

import os
import subprocess
import sys

import pytest

from fairlab.models import loops

TRAIN = """
from fairlab.benchmarks.individual_fairness import sensr_like_adult
from fairlab.papers.individual_fairness import sensr
[work] = sensr_like_adult(1, 600)
print(*(part.tobytes().hex() for part in sensr.train(*work)[0]))
"""


@loops.compiled
def count(n):
    """Count up to n."""
    total = 0
    for _ in range(n):
        total += 1
    return total


def test_a_compiled_function_answers_as_in_plain_python():
    assert count(5) == 5
    assert hasattr(count, "py_func") == loops.IS_COMPILED


@pytest.mark.slow
@pytest.mark.skipif(not loops.IS_COMPILED, reason="numba is not installed")
def test_what_was_compiled_now_and_what_was_kept_train_alike(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", TRAIN]
    first, second = (subprocess.run(command, env=environment, capture_output=True, check=True) for _ in range(2))
    assert first.stdout == second.stdout != b""

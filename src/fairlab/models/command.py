"""A command line program as a model: called once for each row, with its values as arguments."""

import os
import signal
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from fairlab.checks import check_count, check_number


class SoftwareError(RuntimeError):
    """The program under test failed; says on which input.

    Examples
    --------
    >>> from fairlab.models import CommandSoftware
    >>> import sys
    >>> CommandSoftware([sys.executable, "-c", "print('maybe')"], n_jobs=1)(pd.DataFrame({"age": [30]}))
    Traceback (most recent call last):
    ...
    fairlab.models.command.SoftwareError: ... failed on input 30: printed 'maybe', expected '1' or '0'
    """


@dataclass(frozen=True)
class CommandSoftware:
    """An executable: called once for each input, with its values as arguments.

    Attributes
    ----------
    command : sequence of str
        Program and fixed arguments; the values follow in the order of the columns, as Python writes them: ``True``,
        ``1.0``, ``1``, text as it is.
    timeout : float
        Seconds that one call may take.
    n_jobs : int
        Calls at a time.
    true : str
        What it prints, but for blanks around it, for a positive decision.
    false : str or None
        What it prints otherwise; None for anything, as Themis takes it.
    missing : str
        What it is given for a missing value; a text that is the same is refused.

    Raises
    ------
    ValueError
        If the command is no list of texts, or another argument is out of range.

    Examples
    --------
    >>> from fairlab.models import CommandSoftware
    >>> import sys
    >>> program = [sys.executable, "-c", "import sys; print(int(sys.argv[2] == 'm'))"]
    >>> CommandSoftware(program, n_jobs=1)(pd.DataFrame({"age": [30, 40], "sex": ["f", "m"]})).tolist()
    [False, True]
    """

    command: Sequence[str]
    timeout: float = 10.0
    n_jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    true: str = "1"
    false: str | None = "0"
    missing: str = ""

    def __post_init__(self):
        command = self.command
        if isinstance(command, str) and command:
            raise ValueError(f"command: expected a list such as {command.split()}, found the text {command!r}")
        if (
            not isinstance(command, Sequence)
            or not command
            or not all(isinstance(p, str | os.PathLike) for p in command)
        ):
            raise ValueError(f"command: expected a list of texts, found {command!r}")
        check_number(self.timeout, "timeout", above=0, infinite=True)
        check_count(self.n_jobs, "n_jobs")
        for name, text in (("true", self.true), ("false", self.false), ("missing", self.missing)):
            if not (isinstance(text, str) or (name == "false" and text is None)):
                raise ValueError(f"{name}: expected a text, found {text!r}")
        if self.true == self.false:
            raise ValueError(f"false: expected another text than {self.true!r}, or None")

    def __call__(self, inputs: pd.DataFrame) -> np.ndarray:
        """Return the decisions.

        Raises
        ------
        SoftwareError
            If a call cannot start, fails, takes too long or prints something else.
        """
        rows = self._texts(inputs).tolist()
        with ThreadPoolExecutor(self.n_jobs) as pool:
            try:
                return np.fromiter(pool.map(self._decide, rows), dtype=bool, count=len(rows))
            except SoftwareError:
                pool.shutdown(cancel_futures=True)
                raise

    def _texts(self, inputs: pd.DataFrame) -> np.ndarray:
        texts = np.empty(inputs.shape, dtype=object)
        for position, (name, column) in enumerate(inputs.items()):
            known = column.notna().to_numpy()
            texts[known, position] = [str(value) for value in column[known].tolist()]
            if not known.all() and (texts[known, position] == self.missing).any():
                raise SoftwareError(f"column {name!r} holds the text {self.missing!r}, which stands for missing values")
            texts[~known, position] = self.missing
        return texts

    def _decide(self, values: list[str]) -> bool:
        # A session of its own, so that what a hanging command started can be ended with it.
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        try:
            process = subprocess.Popen([*self.command, *values], start_new_session=True, **options)
        except OSError as error:
            raise self._error(values, str(error)) from error
        with process:
            try:
                printed, complaint = process.communicate(timeout=self.timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise self._error(values, f"no answer within {self.timeout:g} s") from None
        if process.returncode:
            raise self._error(values, f"status {process.returncode}: {complaint.strip()[-500:]}")
        answer = printed.strip()
        if answer != self.true and self.false is not None and answer != self.false:
            raise self._error(values, f"printed {answer!r}, expected {self.true!r} or {self.false!r}")
        return answer == self.true

    def _error(self, values: list[str], what: str) -> SoftwareError:
        return SoftwareError(f"{' '.join(map(str, self.command))} failed on input {' '.join(values)}: {what}")

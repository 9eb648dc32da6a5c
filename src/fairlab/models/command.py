"""Command line programs as models: called with a batch as CSV, or once for each row with its values as arguments."""

import os
import signal
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from fairlab.checks import check_count, check_flag, check_number

SECONDS, SECONDS_A_ROW = 600.0, 10.0  # that a call may take


class SoftwareError(RuntimeError):
    """The program under test failed; says on which input.

    Examples
    --------
    >>> from fairlab.models import CommandModel
    >>> import sys
    >>> CommandModel([sys.executable, "-c", "print('maybe')"], by_row=True)(pd.DataFrame({"age": [30]}))
    Traceback (most recent call last):
    ...
    fairlab.models.command.SoftwareError: ... failed on input 30: printed 'maybe', expected '1' or '0'
    """


@dataclass(frozen=True)
class CommandModel:
    """An executable as a model: it reads rows as CSV and prints a number for each, or is called once for each row.

    Attributes
    ----------
    command : sequence of str
        Program and arguments.
    by_row : bool
        Whether it is called for each row, with its values as further arguments in the order of the columns, as Python
        writes them: ``True``, ``1.0``, ``1``, text as it is; it then prints a decision. Otherwise it gets all rows on
        its standard input and prints one number for each.
    timeout : float or None
        Seconds that one call may take: by default 600, by row 10.
    missing : str
        What it is given for a missing value; a text that is the same is refused.
    n_jobs : int
        By row: calls at a time.
    true : str
        By row: what it prints, but for blanks around it, for a positive decision.
    false : str or None
        By row: what it prints otherwise; None for anything, as Themis takes it.

    Raises
    ------
    ValueError
        If the command is no list of texts, or another argument is out of range.

    Examples
    --------
    >>> from fairlab.models import CommandModel
    >>> import sys
    >>> code = "import csv, sys; [print(float(row['age']) / 100) for row in csv.DictReader(sys.stdin)]"
    >>> CommandModel([sys.executable, "-c", code])(pd.DataFrame({"age": [30, 40]})).tolist()
    [0.3, 0.4]
    >>> program = [sys.executable, "-c", "import sys; print(int(sys.argv[2] == 'm'))"]
    >>> CommandModel(program, by_row=True, n_jobs=1)(pd.DataFrame({"age": [30, 40], "sex": ["f", "m"]})).tolist()
    [False, True]
    """

    command: Sequence[str]
    by_row: bool = False
    timeout: float | None = None
    missing: str = ""
    n_jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    true: str = "1"
    false: str | None = "0"

    def __post_init__(self):
        _check_command(self.command)
        seconds = SECONDS_A_ROW if check_flag(self.by_row, "by_row") else SECONDS
        object.__setattr__(self, "timeout", seconds if self.timeout is None else self.timeout)
        check_number(self.timeout, "timeout", above=0, infinite=True)
        check_count(self.n_jobs, "n_jobs")
        for name, text in (("true", self.true), ("false", self.false), ("missing", self.missing)):
            if not (isinstance(text, str) or (name == "false" and text is None)):
                raise ValueError(f"{name}: expected a text, found {text!r}")
        if self.true == self.false:
            raise ValueError(f"false: expected another text than {self.true!r}, or None")

    def __call__(self, inputs: pd.DataFrame) -> np.ndarray:
        """Return one number, or by row one decision, for each row, shape (n_rows,).

        Raises
        ------
        SoftwareError
            If a call cannot start, fails, takes too long or prints something else; if a column has both missing values
            and the text that stands for them.
        """
        _check_missing(inputs, self.missing)
        return self._decisions(inputs) if self.by_row else self._numbers(inputs)

    def _numbers(self, inputs) -> np.ndarray:
        lines = _run(self.command, self.timeout, given=inputs.to_csv(index=False, na_rep=self.missing)).split()
        name = " ".join(map(str, self.command))
        if len(lines) != len(inputs):
            raise SoftwareError(f"{name}: expected a number for each of {len(inputs):,} rows, found {len(lines):,}")
        try:
            return np.array(lines, dtype=float)
        except ValueError as error:
            raise SoftwareError(f"{name}: expected a number for each row; {error}") from None

    def _decisions(self, inputs) -> np.ndarray:
        rows = self._texts(inputs).tolist()
        with ThreadPoolExecutor(self.n_jobs) as pool:
            try:
                return np.fromiter(pool.map(self._decide, rows), dtype=bool, count=len(rows))
            except BaseException:  # an interruption, too
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _texts(self, inputs: pd.DataFrame) -> np.ndarray:
        texts = np.empty(inputs.shape, dtype=object)
        for position, (_, column) in enumerate(inputs.items()):
            known = column.notna().to_numpy()
            texts[known, position] = [str(value) for value in column[known].tolist()]
            texts[~known, position] = self.missing
        return texts

    def _decide(self, values: list[str]) -> bool:
        try:
            printed = _run([*self.command, *values], self.timeout)
        except SoftwareError as error:
            raise self._error(values, str(error)) from error.__cause__
        answer = printed.strip()
        if answer != self.true and self.false is not None and answer != self.false:
            raise self._error(values, f"printed {answer!r}, expected {self.true!r} or {self.false!r}")
        return answer == self.true

    def _error(self, values: list[str], what: str) -> SoftwareError:
        return SoftwareError(f"{' '.join(map(str, self.command))} failed on input {' '.join(values)}: {what}")


def _check_missing(inputs: pd.DataFrame, text: str) -> None:
    """Raise a SoftwareError if a column has both missing values and the text that stands for them."""
    for name, column in inputs.items():
        if column.hasnans and (column.dropna().map(str) == text).any():
            raise SoftwareError(f"column {name!r} holds the text {text!r}, which stands for missing values")


def _check_command(command) -> None:
    """Refuse what is no list of texts."""
    if isinstance(command, str) and command:
        raise ValueError(f"command: expected a list such as {command.split()}, found the text {command!r}")
    if not isinstance(command, Sequence) or not command or not all(isinstance(p, str | os.PathLike) for p in command):
        raise ValueError(f"command: expected a list of texts, found {command!r}")


def _run(command: Sequence[str], timeout: float, given: str | None = None) -> str:
    """Return what a program prints; raises a SoftwareError if it cannot start, fails or takes too long."""
    # A session of its own, so that what a hanging command started can be ended with it.
    options = {"stdin": subprocess.DEVNULL if given is None else subprocess.PIPE, "text": True}
    options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}
    try:
        process = subprocess.Popen([*map(str, command)], **options)
    except OSError as error:
        raise SoftwareError(str(error)) from error
    with process:
        try:
            printed, complaint = process.communicate(given, timeout=timeout)
        except BaseException as error:  # an interruption, too
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise SoftwareError(f"no answer within {timeout:g} s") from None
            raise
    if process.returncode:
        raise SoftwareError(f"status {process.returncode}: {complaint.strip()[-500:]}")
    return printed

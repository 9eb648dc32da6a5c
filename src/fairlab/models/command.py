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
from pandas.api.types import is_float_dtype

from fairlab.checks import check_count, check_flag, check_number, check_text

SECONDS, SECONDS_A_ROW = 600.0, 10.0  # allowed for a call


class SoftwareError(RuntimeError):
    """The program under test failed; the message names the input.

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
    """An executable as a model: it reads rows as CSV and prints a number for each, or is called for each row.

    Attributes
    ----------
    command : sequence of str
        Program and arguments.
    by_row : bool
        Whether the program is called for each row, with the row's values as further arguments in the order of the
        columns; it then prints 1 for a favourable decision and 0 for any other. Otherwise it gets all rows on its
        standard input and prints one number for each. Either way, values are written as in Python (``True``, ``0.5``),
        text unchanged, and whole numbers without a decimal point, even in columns that are floats because of missing
        values.
    timeout : float or None
        Time limit of one call in seconds: by default 600, by row 10.
    missing : str
        Text that stands for a missing value; an equal text in a column with missing values raises an error.
    n_jobs : int
        By row: number of parallel calls, by default one for each core.

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

    def __post_init__(self):
        command = self.command
        if isinstance(command, str) and command:
            raise ValueError(f"command: expected a list such as {command.split()}, found the text {command!r}")
        are_texts = isinstance(command, Sequence) and all(isinstance(part, str | os.PathLike) for part in command)
        if not command or not are_texts:
            raise ValueError(f"command: expected a list of texts, found {command!r}")
        seconds = SECONDS_A_ROW if check_flag(self.by_row, "by_row") else SECONDS
        object.__setattr__(self, "timeout", seconds if self.timeout is None else self.timeout)
        check_number(self.timeout, "timeout", above=0, infinite=True)
        check_count(self.n_jobs, "n_jobs")
        check_text(self.missing, "missing")

    def __call__(self, inputs: pd.DataFrame) -> np.ndarray:
        """Return one number, or by row one decision, for each row, shape (n_rows,).

        Raises
        ------
        SoftwareError
            If a call cannot start, fails, takes too long or prints something else; if a column has both missing values
            and the text that stands for them.
        """
        for name, column in inputs.items():
            if column.hasnans and (column.dropna().map(str) == self.missing).any():
                raise SoftwareError(f"column {name!r} holds the text {self.missing!r}, which stands for missing values")
        inputs = inputs.assign(**{name: _whole(column) for name, column in inputs.items() if is_float_dtype(column)})
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
        texts = inputs.astype(object).map(str, na_action="ignore").where(inputs.notna(), self.missing)
        rows = texts.to_numpy().tolist()
        with ThreadPoolExecutor(self.n_jobs) as pool:
            try:
                return np.fromiter(pool.map(self._decide, rows), dtype=bool, count=len(rows))
            except BaseException:  # an interruption, too
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _decide(self, values: list[str]) -> bool:
        try:
            answer = _run([*self.command, *values], self.timeout).strip()
            if answer not in ("0", "1"):
                raise SoftwareError(f"printed {answer!r}, expected '1' or '0'")
        except SoftwareError as error:
            program = " ".join(map(str, self.command))
            raise SoftwareError(f"{program} failed on input {' '.join(values)}: {error}") from error.__cause__
        return answer == "1"


def _whole(column: pd.Series) -> pd.Series:
    """Return a column of floats in which whole numbers are integers."""
    with np.errstate(invalid="ignore"):
        is_whole = column.to_numpy(dtype=float, na_value=np.nan) % 1 == 0
    values = [int(value) if whole else value for value, whole in zip(column.array, is_whole, strict=True)]
    return pd.Series(values, column.index, dtype=object)


def _run(command: Sequence[str], timeout: float, given: str | None = None) -> str:
    """Return the output of a program; raise a SoftwareError if it cannot start, fails or takes too long."""
    # A session of its own, so that a hanging command can be ended with its child processes.
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

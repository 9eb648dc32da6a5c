"""Progress display of a batch: a line per finished experiment, and a status line."""

import shutil
import sys
import threading
import time
from collections.abc import Callable

REDRAW_SECONDS, REPEAT_SECONDS = 1.0, 60.0  # of the live line, on a terminal and elsewhere


class Progress:
    """Lines on the screen, while the block runs.

    Parameters
    ----------
    live : callable
        Returns the status line: on a terminal it is redrawn, elsewhere printed every minute.
    stream : file, optional
        Default: standard output.
    """

    def __init__(self, live: Callable[[], str], stream=None):
        self._live = live
        self._stream = stream or sys.stdout
        self._terminal = self._stream.isatty()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()
        self._clear()

    def log(self, line: str) -> None:
        """Print a permanent line above the status line."""
        with self._lock:
            self._clear()
            print(line, file=self._stream, flush=True)

    def _watch(self):
        while not self._over.wait(REDRAW_SECONDS if self._terminal else REPEAT_SECONDS):
            line = self._live()
            with self._lock:
                if self._terminal:
                    width = shutil.get_terminal_size().columns - 1
                    print(f"\r\x1b[K{line[:width]}", end="", file=self._stream, flush=True)
                else:
                    print(line, file=self._stream, flush=True)

    def _clear(self):
        if self._terminal:
            print("\r\x1b[K", end="", file=self._stream, flush=True)


class Clock:
    """Seconds since it was made."""

    def __init__(self):
        self._started = time.monotonic()

    def __call__(self) -> float:
        """Return them."""
        return time.monotonic() - self._started


def duration(seconds: float) -> str:
    """Return seconds as ``0:21`` or ``1:02:03``."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def ended(name: str, line: str, seconds: float, width: int) -> str:
    """Return the line of a finished experiment: name, result, duration."""
    return f"{name:<{width}}  {line:<44}  {duration(seconds):>7}".rstrip()


def status(running: dict[str, float], n_done: int, n_failed: int, n_all: int, minutes_left: float) -> str:
    """Return the status line; `running` has the seconds of each running experiment."""
    parts = [f"{n_done} of {n_all} done" + (f", {n_failed} failed" if n_failed else "")]
    if running:
        parts.append("running " + ", ".join(f"{name} {duration(seconds)}" for name, seconds in running.items()))
    parts.append("less than a minute left" if minutes_left < 1 else f"about {minutes_left:.0f} min left")
    return " · ".join(parts)

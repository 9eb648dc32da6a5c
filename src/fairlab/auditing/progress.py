"""A bar with queries and findings so far, where somebody is there to see it."""

import threading

SECONDS_BETWEEN = 0.5


class QueryBar:
    """Shows a bar in a terminal or a notebook; does nothing elsewhere, or where tqdm is not installed.

    Parameters
    ----------
    queries : Queries
        Counts the rows that the model is applied to; read twice a second.
    budget : int
    done : int
        Queries that were made before.
    show : bool
        Whether a bar is wanted at all.
    """

    def __init__(self, queries, budget: int, *, done: int = 0, show: bool = True):
        self._queries, self._start, self._findings = queries, queries.n_queries - done, 0
        self._bar = _bar(budget) if show else None
        self._stop, self._thread = threading.Event(), None

    def __enter__(self):
        if self._bar is not None:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        if self._bar is not None:
            self._thread.join()
            self._refresh()
            self._bar.close()

    def begin(self, what: str) -> None:
        """Say what is being done."""
        if self._bar is not None:
            self._bar.set_description(what, refresh=False)

    def add(self, findings: int) -> None:
        """Count findings."""
        self._findings += findings

    def _watch(self):
        while not self._stop.wait(SECONDS_BETWEEN):
            self._refresh()

    def _refresh(self):
        self._bar.n = self._queries.n_queries - self._start
        self._bar.set_postfix_str(f"{self._findings} findings")


def _bar(budget):
    """Return tqdm's bar for a terminal or a notebook, or None; in a notebook a widget."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    bar = tqdm(total=budget, unit=" queries", leave=False, disable=None)  # hidden where no terminal is
    return None if bar.disable else bar

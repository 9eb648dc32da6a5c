"""A bar with queries and findings so far, where somebody is there to see it."""

from contextlib import suppress


class QueryBar:
    """Shows a bar in a terminal or a notebook; does nothing elsewhere, or where tqdm is not installed.

    Parameters
    ----------
    queries : Queries
        Counts the rows that the model is applied to, and moves the bar.
    budget : int
    done : int
        Queries that were made before.
    show : bool
        Whether a bar is wanted at all.
    """

    def __init__(self, queries, budget: int, *, done: int = 0, show: bool = True):
        self._queries, self._findings, self._bar = queries, 0, None
        if show:
            with suppress(ImportError):  # a browser has no tqdm
                from tqdm.auto import tqdm

                # Hidden where no terminal is.
                self._bar = tqdm(total=budget, initial=done, unit=" queries", leave=False, disable=None)

    def __enter__(self):
        if self._bar is not None:
            self._queries.watch = self._bar.update
        return self

    def __exit__(self, *_):
        if self._bar is not None:
            self._queries.watch = None
            self._bar.close()

    def begin(self, what: str) -> None:
        """Say what is being done."""
        if self._bar is not None:
            self._bar.set_description(what)

    def add(self, findings: int) -> None:
        """Count findings."""
        self._findings += findings
        if self._bar is not None:
            self._bar.set_postfix_str(f"{self._findings} findings")

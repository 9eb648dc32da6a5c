"""A progress bar with queries and findings so far, in a terminal or a notebook."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from fairlab.cases import Queries


@contextmanager
def query_bar(queries: Queries, budget: int, *, done: int, show: bool) -> Iterator[Callable[[str, int], object]]:
    """Show a bar in a terminal or a notebook inside a ``with`` block; not elsewhere, nor where tqdm is not installed.

    Parameters
    ----------
    queries : Queries
        Counts the rows that the model is applied to, and moves the bar.
    budget : int
    done : int
        Queries that were made before.
    show : bool
        Whether a bar is wanted at all.

    Yields
    ------
    callable
        Takes the name of the running method and the number of findings so far.
    """
    if not show or find_spec("tqdm") is None:  # a browser has none
        yield lambda title, n_findings: None
        return
    from tqdm.auto import tqdm

    def tell(title, n_findings):
        bar.set_postfix_str(f"{n_findings} findings", refresh=False)
        bar.set_description(title)

    with tqdm(total=budget, initial=done, unit=" queries", leave=False, disable=None) as bar:  # in a terminal only
        queries.watch = bar.update
        try:
            yield tell
        finally:
            queries.watch = None

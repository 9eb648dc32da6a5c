"""Progress of searches by rows queried, a budget that does not depend on the machine (tables 5 and 8).

The authors' programs query their network one row at a time, so each row costs about the same time. Checking an input
takes its own row and one row for each other protected value that is tried, until one gives another class. Around every
move of a walk, the inner minimiser of basinhopping repeats the check: once, and once more for each attribute. Rows are
counted here as those programs query them; our searches omit the repetitions. Symbolic generation also queries the rows
of each tree.
"""

import time

import numpy as np
import pandas as pd

from fairlab.adf.aequitas import Aequitas
from fairlab.adf.discrimination import Trace, discriminatory, repeated
from fairlab.adf.generation import ADF, GlobalPhase
from fairlab.papers.adf.symbolic import SymbolicGeneration

WALKS_AT_ONCE = 16
SECONDS = 500  # of table 5
ROWS_OF_500_SECONDS = 850_000  # queried one at a time, each in some 0.6 milliseconds, on the authors' machine
GRADIENTS = 2  # rows of ADF before every move: the input and its partner


def course_of_adf(adf: ADF, X, *, n_seeds: int, rng, n_rows: int = 0, n_found: int = 0) -> pd.DataFrame:
    """Go through ADF's seeds, each with its walk, until `n_rows` and `n_found` are reached; see `course`.

    Walks are independent. Several advance together and are counted one after the other.

    Parameters
    ----------
    adf : ADF
    X : array of int of shape (n_rows, n_attributes)
        The data; seeds are drawn from its clusters.
    n_seeds : int
        Maximum number of seeds.
    rng : numpy.random.Generator
        For the walks.
    n_rows, n_found : int
        Stop once this many rows were queried and this many distinct discriminatory inputs were found.
    """
    phase = adf.global_search(adf.seeds(X, n_seeds))
    walker = type(adf)(**adf.get_params(deep=False) | {"random_state": rng})  # all walks draw from one generator
    n_values = len(getattr(adf, "tried", adf.schema).values(adf.sensitive_features))
    before = np.cumsum((phase.iterations + 1) * n_values + phase.iterations * GRADIENTS)
    traces, rows, so_far = [], [], course([], [], before, adf)
    for start in range(0, len(phase.seed), WALKS_AT_ONCE):
        some = slice(start, start + WALKS_AT_ONCE)
        starts = GlobalPhase(phase.inputs[some], phase.partner[some], phase.seed[some], phase.iterations)
        for number, trace in enumerate(walker.steps(starts)):
            traces.append(trace)
            queried = rows_to_check(trace, adf) * (1 + len(adf.schema.names)) + GRADIENTS * (number > 0)
            rows.append(np.where(np.arange(len(queried)) < len(starts.seed), queried, 0))
        so_far = course(traces, rows, before, adf)
        if so_far["rows"].iloc[-1] >= n_rows and so_far["found"].iloc[-1] >= n_found:
            break
    return so_far


def course_of_aequitas(aequitas: Aequitas, draws: np.ndarray, *, n_found: int) -> pd.DataFrame:
    """Go through uniform draws, with a walk from each discriminatory one, until `n_found` is reached; see `course`.

    Parameters
    ----------
    aequitas : Aequitas
        With one walk in flight.
    draws : array of int of shape (n_draws, n_attributes)
    """
    schema = aequitas.schema
    columns = schema.positions(aequitas.sensitive_features)
    hits = np.flatnonzero(discriminatory(aequitas.model, draws, aequitas.sensitive_features, schema=schema))
    hits = hits[~repeated(draws[hits], columns)]
    before = np.arange(1, len(draws) + 1) * len(schema.values(aequitas.sensitive_features))
    traces, n_first, found = [], [], set()
    for number, trace in enumerate(aequitas.steps(draws[hits]) if len(hits) else ()):
        traces.append(Trace(trace.inputs, trace.partner, hits[trace.seed]))
        # First come all starts; each later trace holds a candidate and neighbours that the minimiser evaluates anyway.
        n_first.append(1 if number else len(hits))
        walked = trace.inputs[trace.partner >= 0] if number else trace.inputs[:0]
        found.update(map(bytes, np.delete(walked, columns, axis=1)) if len(walked) else ())
        if len(found) >= n_found:
            break
    last = traces[-1].seed[-1] if len(traces) > 1 else len(draws)
    every = Trace.join(traces, len(schema.bounds))
    step = np.repeat(np.arange(len(traces)), [len(trace.inputs) for trace in traces])
    place = np.arange(len(step)) - np.searchsorted(step, step)
    checks = np.where(place < np.array(n_first, dtype=int)[step], len(schema.bounds) + 1 + (step > 0), 0)
    whole = course(traces, [rows_to_check(every, aequitas) * checks], before, aequitas)
    return whole[whole["seed"] <= last]


def course_of_sg(sg: SymbolicGeneration, X, seeds: np.ndarray, *, n_inputs: int = 0, n_found: int = 0) -> pd.DataFrame:
    """Explore by symbolic generation until `n_inputs` and `n_found` are reached; see `course`.

    Two more columns hold the seconds and explanations so far.

    Parameters
    ----------
    sg : SymbolicGeneration
    X : array of int of shape (n_rows, n_attributes)
    seeds : ndarray of int of shape (n_seeds, n_attributes)
    n_inputs, n_found : int
        Stop once this many distinct inputs were explored and this many discriminatory ones found.
    """
    started, traces, rows, seconds = time.perf_counter(), [], [], []
    explored, found = set(), set()
    for trace in sg.steps(X, seeds):
        traces.append(Trace(trace.inputs, trace.partner, np.zeros(1, dtype=int)))
        rows.append(rows_to_check(trace, sg) + sg.n_neighbours)
        seconds.append(time.perf_counter() - started)
        (found if trace.partner[0] >= 0 else explored).add(tuple(np.delete(trace.inputs[0], sg.columns).tolist()))
        if len(explored) + len(found) >= n_inputs and len(found) >= n_found:
            break
    explanations = np.arange(1, len(traces) + 1)
    return course(traces, rows, np.zeros(1, dtype=int), sg).assign(seconds=seconds, explanations=explanations)


def rows_to_check(trace: Trace, search) -> np.ndarray:
    """Return how many rows a check of each input takes: itself, and other protected values until one flips the class.

    Parameters
    ----------
    trace : Trace
    search : ADF, Aequitas or SymbolicGeneration
        Its schema and sensitive features give the values to try.
    """
    values = search.schema.values(search.sensitive_features)
    own = (trace.inputs[:, None, search.schema.positions(search.sensitive_features)] == values).all(axis=2)
    last = np.where(trace.partner < 0, len(values) - 1, trace.partner)
    return 1 + ((np.arange(len(values)) <= last[:, None]) & ~own).sum(axis=1)


def course(traces: list[Trace], rows: list[np.ndarray], before: np.ndarray, search) -> pd.DataFrame:
    """Return rows queried, distinct inputs and distinct discriminatory ones so far, after every input, seed by seed.

    If only the global phase queried rows, the result has one line.

    Parameters
    ----------
    traces : list of Trace
    rows : list of ndarray
        Rows queried for every input of each trace.
    before : ndarray of int of shape (n_seeds,)
        Rows that the global phase queried up to each seed.
    search : ADF, Aequitas or SymbolicGeneration
    """
    trace = Trace.join(traces, len(search.schema.bounds))
    if not len(trace.inputs):
        return pd.DataFrame({"rows": before[-1:], "inputs": 0, "found": 0, "seed": len(before) - 1})
    order = np.argsort(trace.seed, kind="stable")
    new = ~repeated(trace.inputs[order], search.schema.positions(search.sensitive_features))
    queried = np.concatenate([np.zeros(0, dtype=int), *rows])[order]
    return pd.DataFrame(
        {
            "rows": queried.cumsum() + before[trace.seed[order]],
            "inputs": new.cumsum(),
            "found": (new & (trace.partner[order] >= 0)).cumsum(),
            "seed": trace.seed[order],
        }
    )


def to_find(so_far: pd.DataFrame, column: str, n_found: int) -> float:
    """Return a column of a course at the point where `n_found` were found, scaled up in proportion if fewer were.

    Parameters
    ----------
    so_far : DataFrame
        See `course`.
    column : str
    n_found : int
    """
    line = so_far.iloc[min(so_far["found"].searchsorted(n_found), len(so_far) - 1)]
    return float(line[column] * max(1.0, n_found / max(line["found"], 1)))

"""A paper with one small experiment, for tests of the machinery."""

import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import pandas as pd
from matplotlib.figure import Figure

from fairlab.paths import write_text

PUBLISHED = """
paper: {key: toy, title: "A toy", authors: Nobody, venue: Nowhere, doi: "10.0/0"}
artefacts:
  - id: table-1
    title: Means
    data: [berkeley]
    protocol: One mean.
    claims:
      - {id: positive, text: "The mean is positive.", rows: [mean]}
    values:
      - {id: mean, value: 0.50, std: 0.10, n: 10, kind: statistic}
      - {id: rows, value: 4425, kind: count, exact: true}
      - {id: lost, value: 1, kind: count}
  - id: figure-1
    title: A line
    data: [berkeley]
    protocol: One line.
    no_rows: Nothing is printed.
"""

SPECIFICATION = """
title: A toy experiment
artefacts: [table-1, figure-1]
data: [berkeley]
size: [n]
profiles:
  smoke: {n: 10, n_trials: 2}
  quick: {n: 50, n_trials: 3}
  paper: {n: 50, n_trials: 5}
"""

CELLS = [
    """
    experiment = "toy/mean"
    n = 50
    n_trials = 3
    profile = "quick"
    seed = 0
    """,
    """
    import matplotlib.pyplot as plt
    import pandas as pd
    from fairlab import Experiment
    exp = Experiment.open(globals())
    berkeley = exp.load("berkeley")
    """,
    """
    def mean(trial, n):
        return trial.rng("draw").normal(0.5, 0.1, n).mean()

    means = exp.trials(mean, n_trials, n=n)
    """,
    """
    fig, ax = plt.subplots(figsize=(4, 2.5))
    ax.plot(means)
    ax.set(xlabel="trial", ylabel="mean", title="The means scatter around one half.")
    exp.figure("figure-1", fig, data=pd.DataFrame({"y": means}), caption="Means by trial.")
    exp.record("table-1", "mean", means)
    exp.record("table-1", "rows", len(berkeley.features))
    exp.claims("table-1", {"positive": (min(means) > 0, "")})
    """,
    "exp.compare()",
]


def line(frame, *, color="black"):
    """Draw a line with a title."""
    figure, axis = plt.subplots(figsize=(3, 2), layout="constrained")
    axis.plot(frame["y"], color=color)
    axis.set(xlabel="person", ylabel="height (m)")
    figure.suptitle(f"The heights of {len(frame)} people.")
    return figure


def write_notebook(path: Path, cells) -> Path:
    """Write a notebook of code cells, the first of them tagged as the parameters."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    notebook = nbformat.v4.new_notebook(metadata=metadata)
    notebook.cells = [nbformat.v4.new_code_cell(textwrap.dedent(cell).strip()) for cell in cells]
    notebook.cells[0].metadata["tags"] = ["parameters"]
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)
    return path


def replace_in(file: Path, old: str, new: str) -> None:
    """Replace the first occurrence of a text in a file."""
    file.write_text(file.read_text().replace(old, new, 1))


def with_flipped_bit(content: bytes, bit: int) -> bytes:
    """Return the same bytes but for one bit."""
    return (int.from_bytes(content) ^ 1 << bit).to_bytes(len(content))


def write_program(file: Path, script: str = "") -> Path:
    """Write a program for the shell and return it."""
    write_text(file, f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def write_slow(root: Path, names, n_trials: int, seconds: float) -> None:
    """Write experiments of trials that take seconds, each with numbers of its own; `third` waits for `second`."""
    wait = f"__import__('time').sleep({seconds}); return trial"
    text = SPECIFICATION.replace("n: 10, n_trials: 2", f"n: 10, n_trials: {n_trials}")
    text += "minutes: {smoke: 1, quick: 1, paper: 1}\n"
    for number, name in enumerate(names):
        cells = [cell.replace("return trial", wait).replace("n=n", f"n=n + {number}") for cell in CELLS]
        add_experiment(root, name, cells, more="after: [toy/second]\n" * (name == "third"), specification=text)


def add_experiment(toy: Path, name: str, cells=CELLS, more: str = "", specification: str = SPECIFICATION) -> None:
    """Add an experiment ``toy/<name>`` to the toy project, or write it anew."""
    write_text(toy / "experiments" / "toy" / f"{name}.yaml", f"{specification}{more}")
    own = [cell.replace("toy/mean", f"toy/{name}") for cell in cells]
    write_notebook(toy / "notebooks" / "toy" / f"{name}.ipynb", own)


def fill(experiment):
    """Record what the toy experiment declares; returns the experiment."""
    experiment.load("berkeley")
    figure = Figure(figsize=(3, 2), layout="constrained")
    figure.subplots().set(xlabel="x", ylabel="y", title="Two numbers")
    experiment.figure("figure-1", figure, data=pd.DataFrame({"x": [0, 1], "y": [0, 1]}))
    experiment.record("table-1", "mean", [0.5, 0.6])
    experiment.claims("table-1", {"positive": (True, "0.5 and 0.6")})
    return experiment

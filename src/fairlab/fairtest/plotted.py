"""The tables that FairTest's figures are drawn from: see `fairlab.fairtest.figures`."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pandas as pd
from matplotlib.cbook import boxplot_stats

from fairlab.fairtest.finding import Finding
from fairlab.fairtest.sample import Sample
from fairlab.fairtest.summaries import contingency_table
from fairlab.fairtest.tree import Node

DECADE = 10


def titled_samples(findings: Iterable[Finding], *, short: Callable[[str], str] = str) -> dict[str, Sample]:
    """Return the samples of some contexts by the conditions of each, joined by commas.

    Parameters
    ----------
    findings : iterable of Finding
    short : callable
        Shortens the words of a context.
    """
    return {", ".join(short(str(c)) for c in f.node.conditions or ["everyone"]): f.sample for f in findings}


def group_counts(
    samples: Mapping[str, Sample], *, groups: Iterable[str] | Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Count people by output and protected group in some contexts.

    Parameters
    ----------
    samples : dict of str to Sample
        By what to call each context; with categorical columns.
    groups : iterable of str, dict of str to str, or None
        The protected groups to keep, in a dict with what to call them. None for all.

    Returns
    -------
    DataFrame
        A row for each context, group and output: ``context``, ``people`` (all in it), ``group``, ``output``, ``count``.

    Raises
    ------
    ValueError
        If there is no sample, or a column is continuous.
    """
    if not samples:
        raise ValueError("samples: expected at least one, found none")
    rows = []
    for context, sample in samples.items():
        table = contingency_table(sample)
        people = int(table.loc["Total", "Total"])
        body = table.drop(index="Total", columns="Total")
        kept = list(body.columns) if groups is None else list(groups)
        names = groups if isinstance(groups, Mapping) else dict(zip(kept, kept, strict=True))
        for group in kept:
            for output, count in body[group].items():
                row = {"context": context, "people": people, "group": names[group], "output": output}
                rows.append(row | {"count": int(count)})
    return pd.DataFrame(rows)


def box_table(samples: Mapping[str, Sample], *, bands: Mapping[float, str] | None = None) -> pd.DataFrame:
    """Return the boxes of a continuous output by protected group, or by decade of a continuous attribute.

    Boxes span the quartiles, whiskers reach the last person within 1.5 times the quartiles' distance.

    Parameters
    ----------
    samples : dict of str to Sample
        By what to call each context.
    bands : dict of float to str, optional
        What to call the values of a continuous attribute that has few: a box for each of them instead of decades.

    Returns
    -------
    DataFrame
        A row for each box: ``context``, ``protected``, ``output``, ``group``, ``position``, ``count``, ``mean``,
        ``whislo``, ``q1``, ``med``, ``q3``, ``whishi``, ``beyond`` (people outside of the whiskers), ``least``,
        ``most`` and, for a continuous attribute, ``line``: that of least squares at the box.

    Raises
    ------
    ValueError
        If the output is categorical.
    """
    rows = []
    for context, sample in samples.items():
        protected, output = sample.protected, sample.output
        if output.is_categorical:
            raise ValueError(f"column {output.name!r} has categories, box plots need a continuous output")
        if protected.is_categorical:
            members = {name: protected.values == code for code, name in enumerate(protected.categories)}
            line = None
        else:
            members = _bands(protected.values, bands)
            line = np.polynomial.Polynomial.fit(protected.values, output.values, 1)
        named = {"context": context, "protected": protected.name, "output": output.name}
        for place, (group, mask) in enumerate(members.items()):
            if not mask.any():
                continue
            [box] = boxplot_stats(output.values[mask])
            position = place if line is None else protected.values[mask].mean()
            numbers = {key: box[key] for key in ("mean", "whislo", "q1", "med", "q3", "whishi")}
            row = named | {"group": group, "position": position, "count": int(mask.sum())} | numbers
            row |= {"beyond": len(box["fliers"]), "least": output.values[mask].min(), "most": output.values[mask].max()}
            rows.append(row | {"line": np.nan if line is None else line(position)})
    return pd.DataFrame(rows)


def tree_table(root: Node, *, max_depth: int = 3, reported: Iterable[Node] = ()) -> pd.DataFrame:
    """List a tree from the top down.

    Parameters
    ----------
    root : Node
    max_depth : int
        How many levels below the root to keep.
    reported : iterable of Node

    Returns
    -------
    DataFrame
        A row for each subpopulation: its last ``condition``, ``depth``, ``parent`` (a row number, -1 for the root),
        people in training ``size``, ``effect``, and whether it is ``reported``.
    """
    nodes = [node for node in root.walk() if len(node.ancestors) <= max_depth]
    row_of, told = {id(node): row for row, node in enumerate(nodes)}, {id(node) for node in reported}
    rows = [
        {
            "condition": "everyone" if node.condition is None else str(node.condition),
            "depth": len(node.ancestors),
            "parent": -1 if node.parent is None else row_of[id(node.parent)],
            "size": node.size,
            "effect": node.effect,
            "reported": id(node) in told,
        }
        for node in nodes
    ]
    return pd.DataFrame(rows)


def difference_table(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Stack label tables of two groups.

    Parameters
    ----------
    tables : dict of str to DataFrame
        By what to call each, tables as `fairlab.fairtest.label_table` returns them.

    Returns
    -------
    DataFrame
        A row for each label: ``panel``, ``label``, the groups' names ``first`` and ``second``, the shares of either,
        ``low``, ``high`` and ``p_value``.
    """
    parts = []
    for title, table in tables.items():
        first, second = table.columns[:2]
        shares = {first: "share_of_first", second: "share_of_second"}
        named = {"panel": title, "first": first, "second": second}
        parts.append(table.rename(columns=shares).rename_axis("label").reset_index().assign(**named))
    return pd.concat(parts, ignore_index=True)


def _bands(values: np.ndarray, bands: Mapping[float, str] | None) -> dict[str, np.ndarray]:
    """Return who belongs to each decade, or to each of the named values."""
    if bands is not None:
        if len(strange := np.setdiff1d(values, list(bands))):
            raise ValueError(f"bands: found the value {strange[0]:g}, expected one of {', '.join(map(str, bands))}")
        return {name: values == value for value, name in bands.items()}
    decade = np.floor(values / DECADE).astype(int)
    return {f"{DECADE * d}–{DECADE * (d + 1) - 1}": decade == d for d in np.unique(decade)}

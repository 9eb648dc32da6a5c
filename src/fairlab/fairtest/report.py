"""The report on the tests: a frame with one row for each hypothesis (section 4.4)."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pandas as pd

from fairlab.cases.finding import percent
from fairlab.fairtest.metrics import Regression
from fairlab.fairtest.tree import strongest

SIGNIFICANCE = 0.05
TEXT_AND_NUMBERS = [
    "output",
    "sensitive_features",
    "context",
    "part",
    "depth",
    "size",
    "metric",
    "low",
    "high",
    "p_value",
    "raw_p_value",
    "effect",
    "significant",
    "rank",
]


@dataclass(frozen=True, eq=False)
class AssociationReport:
    """Results of one or several investigations; ``print`` shows them as text.

    Attributes
    ----------
    frame : DataFrame
        One row for each tested hypothesis, the whole population first: the columns of `to_frame`, and
        ``investigation``, its number; ``explanatory``, the attribute that is held fixed, or None; ``strength``, the
        distance of the row's interval from no association; ``node``, which defines the subgroup; ``counts``, people by
        output and group with totals, None if either is a number; ``estimate``, the point estimate of the metric, nan if
        it is not a metric of contingency tables.
    warnings : tuple of str
        Columns taken as categories by default, and limits of sampling and of permutation tests.
    significance : float
        The largest corrected p-value that is significant.

    Examples
    --------
    >>> from fairlab.fairtest import AssociationReport, DataSource, Investigation, investigate
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 300, "offer": ["no", "yes"] * 300})
    >>> found = investigate(DataSource(people), Investigation("sex", "offer"))
    >>> everyone = found.frame.query("sensitive_features == 'sex' and context == 'everyone'").iloc[0]
    >>> isinstance(found, AssociationReport), int(everyone["size"]), bool(everyone["p_value"] < 0.05)
    (True, 300, True)
    >>> everyone["counts"].loc["Total"].to_dict()
    {'f': 159, 'm': 141, 'Total': 300}
    """

    frame: pd.DataFrame
    warnings: tuple[str, ...] = ()
    significance: float = SIGNIFICANCE

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each tested hypothesis, reported or not.

        Returns
        -------
        DataFrame
            ``output`` and ``sensitive_features``; ``context``, the subgroup, and its ``depth`` in the tree; ``part``,
            which is empty for the whole subgroup and else names a stratum or label; ``size`` in the test set;
            ``metric`` with the corrected interval ``low`` to ``high`` (nan without people), corrected and raw p-value;
            for the subgroup ``effect`` (of its own row, or the mean over labels), ``significant`` and, if it is
            reported, ``rank``, which is 0 for the whole population.
        """
        return self.frame[TEXT_AND_NUMBERS].copy()

    def counts(self) -> pd.DataFrame:
        """Return how many subgroups were tested, are significant and are reported, for each sensitive feature.

        Returns
        -------
        DataFrame
            Columns ``output``, ``sensitive_features``, ``metric``, ``tested``, ``significant``, ``reported`` and
            ``smallest_significant``, the number of people in the smallest significant subgroup, if there is one.
        """
        rows = []
        for section in self._sections():
            subgroups = section.drop_duplicates("node")
            about = {name: subgroups[name].iloc[0] for name in ("output", "sensitive_features")}
            about |= {"metric": _metric(section), "tested": len(subgroups)}
            about |= {"significant": subgroups["significant"].sum(), "reported": subgroups["rank"].count()}
            rows.append(about | {"smallest_significant": subgroups.loc[subgroups["significant"], "size"].min()})
        return pd.DataFrame(rows).astype({"smallest_significant": "Int64"})

    def to_dict(self, *, smallest_cell: int = 0) -> dict:
        """Return what is reported as plain data, for JSON and `compare_reports`.

        Parameters
        ----------
        smallest_cell : int
            Subgroups and strata of fewer people are left out, and so are groups with fewer people of one output; one
            more group is left out if those have fewer people together, since their number follows from the totals.

        Returns
        -------
        dict
            ``warnings``, and ``sections`` with the ``contexts`` that are reported, the whole population first. Each has
            its ``tests``: interval, p-value, the ``table`` of counts, the ``estimate`` if that table is complete, and
            ``direction``, which names the group that gets the last output least often. A context is ``significant`` if
            its p-value, or that of one of its labels, is significant. Hidden values and infinite numbers are None.

        Examples
        --------
        >>> from fairlab.fairtest import DataSource, Investigation, investigate
        >>> people = pd.DataFrame({"sex": ["f", "m"] * 300, "offer": ["no", "yes"] * 300})
        >>> found = investigate(DataSource(people), Investigation("sex", "offer")).to_dict(smallest_cell=10)
        >>> (everyone,) = found["sections"][0]["contexts"]
        >>> everyone["size"], everyone["significant"], everyone["tests"][0]["table"]
        (300, True, None)
        """
        sections = []
        for section in self._sections():
            first, subgroups = section.iloc[0], [rows for _, rows in section.groupby("rank")]
            shown = [rows for rows in subgroups if rows["size"].iloc[0] >= smallest_cell]
            sections.append(
                {
                    "output": first["output"],
                    "sensitive_feature": first["sensitive_features"],
                    "explanatory": first["explanatory"],
                    "metric": _metric(section),
                    "tested": section["node"].nunique(),
                    "significant": sum(self._proves(rows) for _, rows in section.groupby("node", sort=False)),
                    "withheld": len(subgroups) - len(shown),
                    "contexts": [self._plain(rows, smallest_cell) for rows in shown],
                }
            )
        return {"warnings": list(self.warnings), "sections": sections}

    def __str__(self):
        return "\n\n".join([*self.warnings, *map(self._text, self._sections())])

    def _sections(self) -> Iterator[pd.DataFrame]:
        """Yield the rows on each sensitive feature of each investigation."""
        for _, section in self.frame.groupby(["investigation", "sensitive_features"], sort=False):
            yield section

    def _proves(self, rows: pd.DataFrame) -> bool:
        """Return whether the p-value of a subgroup, or that of one of its labels, is small enough."""
        return bool((rows.loc[_is_own(rows), "p_value"] <= self.significance).any())

    def _plain(self, rows: pd.DataFrame, smallest_cell: int) -> dict:
        """Return a subgroup with its tests as plain data."""
        first = rows.iloc[0]
        return {
            "context": first["context"],
            "kind": sorted(condition.kind for condition in first["node"].conditions),
            "size": int(first["size"]),
            "effect": _finite(first["effect"]),
            "significant": self._proves(rows),
            "tests": [
                _plain_test(row, smallest_cell) for row in rows.to_dict("records") if row["size"] >= smallest_cell
            ],
        }

    def _text(self, section: pd.DataFrame) -> str:
        """Return the report on one sensitive feature as text."""
        subgroups, first = section.drop_duplicates("node"), section.iloc[0]
        given = f", conditioned on explanatory attribute E={first['explanatory']}" if first["explanatory"] else ""
        n_significant, n_reported = subgroups["significant"].sum(), subgroups["rank"].count()
        lines = [
            f"Report of associations of O={first['output']} on S={first['sensitive_features']}{given}:",
            f"Association metric: {_metric(section)}.",
            f"{len(subgroups)} contexts tested, {n_significant} significant, {n_reported} reported.",
        ]
        for rank, rows in section.groupby("rank"):
            size, context = (rows[name].iloc[0] for name in ("size", "context"))
            about = [f"{rank}. Subpopulation of size {size:,}", f"Context = {context}"]
            lines += ["", *(about if rank else [f"Global population of size {size:,}"]), self._tests(rows)]
        return "\n".join(lines)

    def _tests(self, rows: pd.DataFrame) -> str:
        """Return the tests of a subgroup as text."""
        if _is_of_labels(rows):
            table = label_table(rows)
            formats = dict.fromkeys(table.columns[:2], "{:.0%}".format)
            formats |= {"low": "{:.4f}".format, "high": "{:.4f}".format, "p_value": "{:.2e}".format}
            return table.to_string(formatters=formats)
        lines = []
        for row in rows.to_dict("records"):
            if row["part"] and row["size"]:
                lines += ["", f"* {row['part']}: population of size {row['size']:,}"]
            if row["size"] or not row["part"]:
                interval = f"[{row['low']:.4f}, {row['high']:.4f}]"
                lines.append(f"p-value = {row['p_value']:.2e} ; {row['metric']} = {interval}")
                if row["strength"] == 0 or row["p_value"] > self.significance:
                    lines.append("Not distinguishable from no association.")
                if row["counts"] is not None:
                    lines.append(_with_shares(row["counts"]).to_string())
        return "\n".join(lines)


def judge(rows: list[dict], significance: float) -> pd.DataFrame:
    """Return a frame of the tested hypotheses of one investigation that marks the significant and the reported ones.

    A subgroup is judged by its own row, not by its strata. In a discovery it is judged by the mean strength of its
    labels, and is significant if that is above 0. Reported are the whole population and the significant subgroups that
    are not weaker than any tested population containing them, the strongest first.

    Parameters
    ----------
    rows : list of dict
        Ordered by sensitive feature, then by subgroup, the whole population first.
    significance : float
    """
    for _, grouped in groupby(rows, key=lambda row: row["sensitive_features"]):
        section, effects, significant = list(grouped), {}, set()
        for node, grouped_tests in groupby(section, key=lambda row: row["node"]):
            tests = list(grouped_tests)
            own = [test for test in tests if not test["part"]] or tests
            effects[node] = float(np.mean([test["strength"] for test in own]))
            if own[0]["p_value"] <= significance if not own[0]["part"] else effects[node] > 0:
                significant.add(node)
        reported = [section[0]["node"], *(node for node in strongest(effects) if node in significant)]
        rank = {node: number for number, node in enumerate(reported)}
        for row in section:
            node = row["node"]
            row |= {"effect": effects[node], "significant": node in significant, "rank": rank.get(node)}
    return pd.DataFrame(rows).astype({"rank": "Int64", "counts": object})


def label_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the labels of a discovery, each with its share in every group, its interval and p-value.

    Parameters
    ----------
    rows : DataFrame
        Rows of one subgroup in the frame of a report.

    Returns
    -------
    DataFrame of shape (n_labels, 5)
        Indexed by label; shares lie between 0 and 1.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Investigation, investigate, label_table
    >>> photos = pd.DataFrame({"race": ["a", "b"] * 300, "ball": [1, 0] * 300, "smile": [0, 0, 1] * 200})
    >>> found = investigate(DataSource(photos), Investigation("race", ["ball", "smile"], context=[]))
    >>> label_table(found.frame)[["a", "b"]].loc["ball"].to_dict()
    {'a': 1.0, 'b': 0.0}
    """
    counts = rows.set_index(rows["part"].rename("label"))["counts"]
    shares = {label: (table.iloc[1] / table.loc["Total"]).drop("Total") for label, table in counts.items()}
    tested = rows.set_index(counts.index)[["low", "high", "p_value"]]
    return pd.DataFrame(shares).T.rename_axis(columns=None).join(tested).rename_axis("label")


def _is_of_labels(rows: pd.DataFrame) -> bool:
    return bool(rows["node"].iloc[0].labels)


def _is_own(rows: pd.DataFrame) -> pd.Series:
    """Return which rows are about whole subgroups and not about their strata."""
    return (rows["part"] == "") | _is_of_labels(rows)


def _metric(section: pd.DataFrame) -> str:
    """Return the name of the metric by which a section's subgroups were found."""
    return Regression.name if _is_of_labels(section) else section["metric"].iloc[0]


def _with_shares(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of counts as text, with shares of the column in the body and of all people in the totals."""
    shares = table / table.loc["Total"].replace(0, 1)
    shares.loc["Total"] = table.loc["Total"] / max(table.loc["Total", "Total"], 1)
    return table.map("{:,}".format) + shares.map(" ({:.0%})".format)


def _finite(number: float) -> float | None:
    """Return the number, or None if it is not finite, which JSON cannot hold: the bound of a ratio may be infinite."""
    return float(number) if np.isfinite(number) else None


def _plain_test(row: dict, smallest_cell: int) -> dict:
    """Return the test of one hypothesis as plain data."""
    table = _shown_counts(row["counts"], smallest_cell)
    is_whole = table is not None and not table["hidden"]
    is_given = row["explanatory"] is not None and not row["part"]
    return {
        "part": row["part"],
        "size": row["size"],
        "metric": row["metric"],
        "low": _finite(row["low"]),
        "high": _finite(row["high"]),
        "estimate": _finite(row["estimate"]) if is_whole else None,
        "p_value": row["p_value"],
        "direction": _direction(table, row["counts"], smallest_cell) if table and not is_given else None,
        "table": table,
    }


def _shown_counts(counts: pd.DataFrame | None, smallest_cell: int) -> dict | None:
    """Return counts by output for the groups without a small cell; None if there are fewer than two such groups.

    The hidden groups together are no small cell either, since their number follows from the size of the context.
    """
    if counts is None:
        return None
    counts = counts.drop(index="Total", columns="Total")
    shown = counts.loc[:, (counts >= smallest_cell).all() & counts.any()]
    if 0 < counts.to_numpy().sum() - shown.to_numpy().sum() < smallest_cell and len(shown.columns):
        shown = shown.drop(columns=shown.sum().idxmin())
    if len(shown.columns) < 2:
        return None
    return {
        "groups": list(shown.columns),
        "outputs": list(shown.index),
        "counts": shown.to_numpy().tolist(),
        "hidden": len(counts.columns) - len(shown.columns),
        "shares": (shown.iloc[-1] / shown.sum()).tolist(),
    }


def _direction(table: dict, counts: pd.DataFrame, smallest_cell: int) -> str | None:
    """Return a sentence on which group gets the last output least and which most often; None if rates are equal.

    Hidden groups are not named; but if one has enough people and an even lower or higher rate, the sentence says so.
    """
    (least, low), *_, (most, high) = sorted(zip(table["groups"], table["shares"], strict=True), key=lambda one: one[1])
    output = table["outputs"][-1]
    totals = counts.loc["Total"].drop(["Total", *table["groups"]])
    hidden = (counts.loc[output] / totals[totals >= smallest_cell]).dropna()
    said = [f"{output} least often in a group that is not shown"] * bool((hidden < low).any())
    said += [f"{output} most often in a group that is not shown"] * bool((hidden > high).any())
    said += [f"{output} less often among {least} ({percent(low)}) than among {most} ({percent(high)})"] * (low < high)
    return "; ".join(said) or None

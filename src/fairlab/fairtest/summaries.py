"""Tables of the people in a context and of what was found about them."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fairlab.fairtest.finding import Association, Finding
from fairlab.fairtest.sample import Sample


def contingency_table(sample: Sample) -> pd.DataFrame:
    """Return counts of people by output (rows) and protected group (columns), with totals.

    Raises
    ------
    ValueError
        If one of them is continuous.

    Examples
    --------
    >>> from fairlab.fairtest import Column, Sample, contingency_table
    >>> sex, offer = (
    ...     Column("sex", np.array([0, 1, 1]), ("f", "m")),
    ...     Column("offer", np.array([0, 1, 0]), ("no", "yes")),
    ... )
    >>> contingency_table(Sample(sex, offer)).loc["no"].to_dict()
    {'f': 1, 'm': 1, 'Total': 2}
    """
    _check_type("sample", sample, Sample)
    output, protected = sample.output, sample.protected
    for column in (output, protected):
        if not column.is_categorical:
            raise ValueError(f"column {column.name!r} holds numbers, a contingency table needs categories")
    shape = len(output.categories), len(protected.categories)
    cells = np.bincount(output.values * shape[1] + protected.values, minlength=shape[0] * shape[1])
    table = pd.DataFrame(
        cells.reshape(shape),
        index=pd.Index(output.categories, name=output.name),
        columns=pd.Index(protected.categories, name=protected.name),
    )
    table["Total"] = table.sum(axis=1)
    table.loc["Total"] = table.sum()
    return table


def label_table(finding: Finding) -> pd.DataFrame:
    """Return the labels of a `Discovery` in one context: share of people with each, by group, interval and p-value.

    Returns
    -------
    DataFrame of shape (n_labels, 5)
        Indexed by label; shares lie between 0 and 1.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Discovery, investigate, label_table
    >>> rng = np.random.default_rng(0)
    >>> photos = pd.DataFrame({"race": ["a", "b"] * 300, "smile": rng.random(600) < 0.5})
    >>> photos["ball"] = (photos["race"] == "a") & (rng.random(600) < 0.6)
    >>> found = investigate(Discovery(DataSource(photos), "race", ["smile", "ball"], context=[]))
    >>> label_table(found.sections[0].findings[0]).index.tolist()
    ['ball', 'smile']
    """
    _check_type("finding", finding, Finding)
    rows = []
    for association in finding.associations:
        protected, output = association.hypothesis.sample.protected, association.hypothesis.sample.output
        shares = {
            group: output.values[protected.values == code].mean() if (protected.values == code).any() else np.nan
            for code, group in enumerate(protected.categories)
        }
        rows.append({"label": output.name} | shares | _numbers(association))
    return pd.DataFrame(rows).set_index("label")


def share_table(sample: Sample) -> pd.DataFrame:
    """Return the share of each output (rows) among each protected group and among all (columns), from 0 to 1.

    Raises
    ------
    ValueError
        If output or protected attribute is continuous.

    Examples
    --------
    >>> from fairlab.fairtest import Column, Sample, share_table
    >>> sex, offer = (
    ...     Column("sex", np.array([0, 1, 1]), ("f", "m")),
    ...     Column("offer", np.array([0, 1, 0]), ("no", "yes")),
    ... )
    >>> share_table(Sample(sex, offer)).loc["yes"].round(2).to_dict()
    {'f': 0.0, 'm': 0.5, 'Total': 0.33}
    """
    table = contingency_table(sample)
    return (table / table.loc["Total"]).drop(index="Total")


def association_table(associations: Mapping[str, Association]) -> pd.DataFrame:
    """Return some associations as rows, under the names that they are given in column ``of``.

    Parameters
    ----------
    associations : dict of str to Association

    Returns
    -------
    DataFrame
        Columns ``of``, ``size``, and the corrected ``low``, ``high`` and ``p_value``.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Testing, association_table, investigate
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 300, "offer": ["no", "yes"] * 300})
    >>> (section,) = investigate(Testing(DataSource(people), "sex", "offer")).sections
    >>> association_table({"everyone": section.findings[0].associations[0]})["of"].tolist()
    ['everyone']
    """
    _check_type("associations", associations, Mapping)
    for association in associations.values():
        _check_type("associations", association, Association)
    return pd.DataFrame([{"of": name, "size": a.size} | _numbers(a) for name, a in associations.items()])


def _check_type(argument, value, kind):
    if not isinstance(value, kind):
        raise TypeError(f"{argument}: expected {kind.__name__}, found {value!r}")


def _numbers(association: Association) -> dict:
    return {"low": association.low, "high": association.high, "p_value": association.p_value}

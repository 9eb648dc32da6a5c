"""Decisions in files that do not fit into memory: all of them are counted, none is loaded."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from fairlab.auditing.doubts import unknown_groups
from fairlab.auditing.exports import as_json
from fairlab.cases.meaning import spelled_alike, two_spellings
from fairlab.cases.tables import Folder, encode
from fairlab.cases.tables.encoding import is_folder
from fairlab.checks import suggestion
from fairlab.fairtest import AssociationReport, DataSource, Investigation, impact_table
from fairlab.fairtest.group_rates import LEAST_RATED
from fairlab.paths import write_text

LEAST_LEAF = 100  # people of a subgroup in training
COLUMNS_SHOWN = ["people", "share", "selected", "selection rate", "impact ratio", "ratio low", "ratio high"]


@dataclass(frozen=True)
class FilesReport:
    """Result of an audit of decisions in files.

    Attributes
    ----------
    n_rows : int
    rates : dict of str to DataFrame
        By sensitive feature, the selection rates and impact ratios of all rows, see `fairlab.impact_table`.
    report : AssociationReport
        Subgroups that FairTest found in one half of the rows and tested on the other.
    left_out : dict of str to str
        Columns that could not be encoded, and why.
    warnings : tuple of str
        What a reader must know of the rates.
    not_assessed : tuple of str
        Sensitive features of which fewer than two groups are large enough to be compared.
    """

    n_rows: int
    rates: dict[str, pd.DataFrame]
    report: AssociationReport
    left_out: dict[str, str]
    warnings: tuple[str, ...] = ()
    not_assessed: tuple[str, ...] = ()

    def __str__(self):
        counts = dict.fromkeys(["people", "selected"], "{:,}".format)
        look = {"formatters": counts, "float_format": "{:.4g}".format, "na_rep": ""}
        shown = [table[COLUMNS_SHOWN].rename_axis(name).to_string(**look) for name, table in self.rates.items()]
        left_out = [f"Column {name!r} is left out: it {why}." for name, why in self.left_out.items()]
        return "\n\n".join(
            [f"{self.n_rows:,} decisions, all counted", *left_out, *self.warnings, *shown, str(self.report)]
        )

    def to_json(self, path: str | Path) -> None:
        """Write rates, and what FairTest reports, as JSON."""
        rates = {name: table.to_dict(orient="index") for name, table in self.rates.items()}
        content = {"n_rows": self.n_rows, "rates": rates, "fairtest": self.report.to_dict(), "left_out": self.left_out}
        write_text(path, as_json(content | {"warnings": self.warnings, "not_assessed": self.not_assessed}))


def audit_files(
    files: str | Path | Sequence[str | Path],
    codes: str | Path | None = None,
    *,
    decisions: str,
    sensitive_features: str | Sequence[str],
    features: Sequence[str] | None = None,
    pos_label: object = None,
    confidence_level: float = 0.95,
    random_state: int = 0,
) -> FilesReport:
    """Count the decisions in Parquet or CSV files: rates of all rows, and FairTest.

    Parameters
    ----------
    files : path, or list of path
        As for `fairlab.cases.tables.encode`, or a folder that it made.
    codes : path or None
        Folder for the encoded files; None for a temporary one.
    decisions : str
        Column with two different values.
    sensitive_features : str or list of str
    features : list of str or None
        Columns that define subgroups; None for all others.
    pos_label : object
        The favourable decision; None if decisions are booleans, or 0 and 1.
    confidence_level : float
        Of each interval, and of the tests together.
    random_state : int
        Of the split into halves, by the hash of the number of each row, or of the key of a folder that has one.

    Raises
    ------
    FilesError, ValueError
        If files cannot be encoded, or columns are missing or unfit.
    OSError
        If codes cannot be written.
    """
    sensitive = [sensitive_features] if isinstance(sensitive_features, str) else sensitive_features
    with TemporaryDirectory() if codes is None else nullcontext(codes) as folder:
        if not (isinstance(files, str | Path) and is_folder(files)):
            columns = None if features is None else list(dict.fromkeys([*features, *sensitive, decisions]))
            files = encode(files, folder, columns=columns)
        table = Folder(files)
        for argument, names in {"decisions": [decisions], "sensitive_features": sensitive}.items():
            for name in names:
                if name not in table.names:
                    raise ValueError(f"{argument}: no column {name!r}{suggestion(name, table.names)}")
        source = DataSource(
            table,
            split="hash",
            key=table.key,
            confidence_level=confidence_level,
            random_state=random_state,
            # Numbers written as strings, such as "01", are categories, as in a table in memory.
            categories=[name for name in table.names if name == decisions or not table.is_number(name)],
        )
        leaf = max(min(LEAST_LEAF, source.n_train), 1)  # with fewer rows, everyone is the only subgroup
        investigation = Investigation(sensitive_features, decisions, context=features, min_leaf_size=leaf).fit(source)
        labels = table.columns[decisions].categories
        if None in (table.values(decisions) or ()):
            raise ValueError(f"decisions: expected one in each row, some of column {decisions!r} are missing")
        place = _favourable(labels, decisions, pos_label)
        names = investigation.sensitive_features_
        sides = [table.columns[name] for name in names]
        if strange := [side.name for side in sides if not side.is_categorical]:
            raise ValueError(f"sensitive_features: column {strange[0]!r} holds numbers; cut them into categories first")
        counted = table.tabulate([(side.key, table.columns[decisions].key) for side in sides])
        rates, warnings, not_assessed = {}, [], []
        for side, counts in zip(sides, counted, strict=True):
            groups = {"people": counts.sum(axis=1), "selected": counts[:, place]}
            frame = pd.DataFrame(groups, index=pd.Index(side.categories, name=side.name))
            if alike := two_spellings(side.name, frame.index):
                warnings.append(alike)
            unknown = frame.index[: None in (table.values(side.name) or ())]  # missing ones come first
            warnings += unknown_groups(side.name, frame.index.drop(unknown))
            if (frame["people"].drop(unknown) >= LEAST_RATED).sum() < 2:
                not_assessed.append(side.name)
                warnings.append(f"Not assessed: {side.name}, as fewer than two groups have {LEAST_RATED} people.")
            options = {"unknown": unknown, "confidence_level": confidence_level}
            rates[side.name] = impact_table(frame[frame["people"] > 0], **options)
        tested = investigation.test(significance=1 - confidence_level)
        return FilesReport(table.n_rows, rates, tested, table.left_out, tuple(warnings), tuple(not_assessed))


def _favourable(labels, decisions, pos_label) -> int:
    """Return the place of the favourable label."""
    known = ", ".join(labels)
    if len(labels) != 2 or spelled_alike(labels):
        raise ValueError(f"decisions: expected two different values in column {decisions!r}, found {known}")
    if pos_label is None and set(labels) not in ({"False", "True"}, {"0", "1"}):
        raise ValueError(f"pos_label: expected the favourable one of {known}, found none")
    pos_label = labels[1] if pos_label is None else str(pos_label)
    if pos_label not in labels:
        raise ValueError(f"pos_label: expected one of {known}, found {pos_label!r}")
    return labels.index(pos_label)

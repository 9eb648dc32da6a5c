"""A model, a table and its sensitive columns, ready for any method."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairlab.cases.decisions import (
    NO_MODEL,
    DecisionRecord,
    NoModelError,
    check_no_counts,
    doubts,
)
from fairlab.cases.foreign import (
    Originals,
    as_numbers,
    as_pandas,
    plain_table,
)
from fairlab.cases.meaning import two_spellings
from fairlab.cases.model import wrap_model
from fairlab.cases.sampling import drawn_rows, lies_elsewhere
from fairlab.cases.schema import CaseError, Feature, Schema, case_errors, check_values, read_schema
from fairlab.cases.table import Encoding, check_table, in_dtypes
from fairlab.checks import (
    COUNT_OR_ZERO,
    align,
    check_count,
    check_flag,
    check_names,
    check_number,
    checked,
    unless_none,
)
from fairlab.seeds import derive_seed

MOST_VALUES = 100_000  # values of a feature, up to which they are cached in the table's dtype
MOST_DRAWN = 100_000  # rows drawn from a table that is not in memory
ROWS_AT_ONCE = 200_000  # rows in one batch of queries when features are varied
# What a case and a sample of it have in common; schema and encoding are made of the rows.
OF_ANY_ROWS = (
    "_own_model",
    "_model",
    "queries",
    "sensitive_features",
    "features",
    "unseen",
    "n_given",
    "_dtypes",
    "_given",
)


class Case:
    """A model under test, with the people it decides on, and what its answers mean.

    The model is applied to every row of the table when the case is made, so that its answers are checked at once; they
    are cached. It always gets its features in the dtypes and the order of the table.

    Parameters
    ----------
    model : estimator, Keras model, PyTorch module, function, or CommandModel
        Anything with ``predict`` or ``predict_proba``, or that takes a DataFrame and returns one answer for each row:
        labels, booleans, strings, probabilities or scores.
    table : DataFrame
        One row for each person, from pandas, polars or pyarrow: strings, categories, booleans, numbers, dates,
        durations and decimals; values may be missing. The model gets pandas rows with the original values. Methods see
        dates as days since 1970-01-01, durations as days, decimals as floats, and objects that are all numbers as
        numbers.
    sensitive_features : str or sequence of str
        Columns of the table.
    features : sequence of str or None
        Columns that the model gets, in the model's order. By default those that it was fitted to, if it records them,
        or all but `y_true`.
    y_true : str, Series, array-like of shape (n_rows,), or None
        True labels: a column of the table, which the model then does not get; values in the order of the rows; or a
        Series, aligned by its index. An index that merely counts from 0 is an error if the table's rows are in another
        order. Labels may be missing, as for rejected applicants.
    pos_label : object or None
        The favourable label, or class of a network (counted from 0). Not needed for labels 0 and 1, -1 and 1, and
        booleans. With more than two classes, all others count as unfavourable.
    decision_threshold : float or None
        Smallest score that is favourable; 0.5 by default for values within 0 and 1, with a warning.
    schema : Schema, mapping, path or None
        Domain of all or some features; the others are taken from the table. A mapping or a YAML file has the content
        of `Schema.from_dict`; ``{column: {"edges": [...]}}`` puts a number into bins. It may also list sensitive
        columns that the model does not get, to set the edges of their groups.
    max_rows : int or None
        If the table has more rows, a simple random sample of this size is drawn before the model is applied.
    random_state : int
        Seed of the sample.

    Attributes
    ----------
    table : DataFrame
        A copy with the features and the sensitive columns.
    n_given : int
        Rows of the table as it was given, of which `table` may be a sample.
    features, sensitive : tuple of str
    unseen : tuple of str
        Sensitive columns that the model does not get: their direct effect is 0 by construction.
    task : {"classes", "scores", "numbers"}
        Labels only; scores or probabilities, which a threshold turns into decisions; or a regression without one.
    pos_label : object
    decision_threshold : float or None
        As given or inferred; the threshold is None where the model decides by labels.
    log_odds_threshold : float
        Log odds at which a decision turns favourable; 0 for a score that is not a probability, see `log_odds`.
    has_scores, has_gradients : bool
    unit : {"probability", "log odds", "score"} or None
        Unit of the model's own scores; `score` turns log odds into probabilities.
    record : DataFrame or None
        With `from_decisions`, one row for each decision, in the order of the table: ``answer``, and some of ``score``,
        ``weight`` and ``person``.
    y_true : ndarray of bool of shape (n_rows,), or None
        True for the favourable label; floats for task "numbers".
    labelled : ndarray of bool of shape (n_rows,)
        True where the true label is known; elsewhere `y_true` has no meaning.
    queries : Queries
    warnings : tuple of str
        What was inferred, sampled or weighted, and what is doubtful, one sentence each.

    Raises
    ------
    CaseError
        If model and table cannot be examined as they are; says what was expected and what was found.

    Examples
    --------
    >>> from fairlab.cases import Case
    >>> table = pd.DataFrame({"sex": ["f", "m", "m"], "income": [3, 1, 2], "repaid": ["yes", "no", "yes"]})
    >>> model = lambda rows: rows["income"] > 1
    >>> case = Case(model, table, sensitive_features="sex", y_true="repaid", pos_label="yes")
    Traceback (most recent call last):
    ...
    fairlab.cases.schema.CaseError: y_true: has the labels 'no', 'yes', the model answers False, True; make them alike
    >>> case = Case(model, table, sensitive_features="sex")
    >>> case
    Case: <lambda>, 3 rows, 3 features, sensitive sex; task classes, 67% favourable
    """

    def __init__(
        self,
        model: Any,
        table: pd.DataFrame,
        *,
        sensitive_features: str | Sequence[str],
        features: Sequence[str] | None = None,
        y_true: Any = None,
        pos_label: object = None,
        decision_threshold: float | None = None,
        schema: Schema | Mapping | str | Path | None = None,
        max_rows: int | None = None,
        random_state: int = 0,
    ):
        self._own_model = model
        with case_errors():
            self._model = wrap_model(model)
        table = as_pandas(table)
        self.sensitive_features = _checked_names(sensitive_features, "sensitive_features", table)
        _check_told_apart(self.sensitive_features)
        y_true = _or_name(y_true, table)
        labels = _labels(table, y_true)
        self.features = _feature_names(
            table, features, self._model.columns, y_true if isinstance(y_true, str) else None
        )
        if isinstance(y_true, str) and y_true in (*self.sensitive_features, *self.features):
            where = "sensitive_features" if y_true in self.sensitive_features else "features"
            raise CaseError(f"y_true: {y_true!r} is also among {where}; expected a column of its own")
        self.unseen = tuple(name for name in self.sensitive_features if name not in self.features)
        used, self._model.originals = plain_table(table[[*self.features, *self.unseen]])
        self.table = check_table(used)
        for name in self.sensitive_features:
            if self.table[name].nunique(dropna=False) < 2:
                raise CaseError(f"sensitive_features: column {name!r} has one value only, expected at least two groups")
            values = self.table[name].dropna().unique() if self.table[name].dtype.kind not in "iufb" else ()
            if len(values) < MOST_VALUES and (said := two_spellings(name, values)):
                self._model._warn(said)
        self.n_given = len(table)
        decision_threshold = unless_none(decision_threshold, "decision_threshold", check_number)
        max_rows = unless_none(max_rows, "max_rows", partial(check_count, least=2))
        check_count(random_state, "random_state", least=0)
        self.record = self._model.rows if isinstance(self._model, DecisionRecord) else None
        if (rows := _sample_of(self.n_given, max_rows or self.n_given, random_state)) is not None:
            self.table, labels = self.table.iloc[rows], None if labels is None else labels.iloc[rows]
            self.record = None if self.record is None else self.record.iloc[rows].copy()
        self._dtypes = self.table.dtypes[list(self.features)]
        self.queries = self._model.queries
        self.y_true = self._model.settle(self._rows(None), labels, pos_label, decision_threshold)
        # For a noisy model, one draw for each person: equal rows need not get the same decision. A model whose answers
        # depend on the rest of the batch gets the whole table.
        self._drawn = None
        if not self.queries.is_deterministic:
            self._drawn = self.queries.draw(*self._model.decision_question, self._rows(None))
        self.labelled = np.zeros(len(self.table), dtype=bool) if labels is None else labels.notna().to_numpy()
        self._given = {} if schema is None else _given_features(schema, self.table)  # a sample has the same bins
        if schema is not None:
            _ = self._domain  # so that a schema that does not fit raises its error here

    @classmethod
    def from_decisions(
        cls,
        table: pd.DataFrame,
        decisions: Any,
        *,
        sensitive_features: str | Sequence[str],
        y_true: Any = None,
        scores: Any = None,
        pos_label: object = None,
        weights: Any = None,
        person: Any = None,
        features: Sequence[str] | None = None,
        key: str | None = None,
        **options: Any,
    ) -> "Case":
        """Return a case of recorded decisions, without a model.

        Methods that compare people run on it; those that query a model report that there is none.

        Parameters
        ----------
        table : DataFrame
            One row for each decision; see `Case`. From files (``"decisions/*.parquet"``), DuckDB, Spark and Polars'
            lazy frames, about `max_rows` rows (100,000 by default) are drawn into memory, and `warnings` say so;
            arguments are then names of columns.
        decisions : str, Series, or array-like of shape (n_rows,)
            Labels, none missing; or numbers, which `decision_threshold` turns into decisions. This, `y_true`, `scores`,
            `weights` and `person` are each a column of the table, which is then not a feature; values in the order of
            the rows; or a Series, aligned by its index.
        sensitive_features : str or sequence of str
        y_true : optional
            True labels, as in `Case`.
        scores : optional
            Finite numbers on which the decisions were based; their calibration is tested.
        pos_label : object or None
            The favourable label, as in `Case`.
        weights : optional
            Survey weights: numbers above 0 that say how many people of the population a row stands for. They are not
            counts of decisions; a decision that occurred several times needs several rows.
        person : optional
            Identifier of the person, where several decisions are about one person; intervals and tests then treat
            persons, not decisions, as independent.
        features : sequence of str or None
            Columns for matching people and for defining subgroups, besides the sensitive ones; all others by default.
        key : str or None
            Column with a unique whole number or string for each row; not a feature. Rows are drawn by its hash, so that
            every engine draws the same ones. Needed for tables that are not in memory.
        **options
            `decision_threshold`, `schema`, `max_rows` and `random_state` of `Case`.

        Raises
        ------
        CaseError
            If the table cannot be examined as it is; says what was expected and what was found.

        Examples
        --------
        >>> import fairlab
        >>> people = pd.DataFrame({"sex": ["f", "m", "m"], "points": [3, 1, 2], "hired": ["no", "no", "yes"]})
        >>> fairlab.Case.from_decisions(people, "hired", sensitive_features="sex", pos_label="yes")
        Case: decisions, 3 rows, 2 features, sensitive sex; task classes, 33% favourable
        """
        n_given = None
        if key is not None or lies_elsewhere(table):
            most = check_count(options.pop("max_rows", None) or MOST_DRAWN, "max_rows", least=2)
            table, n_given = drawn_rows(table, key, most, options.get("random_state", 0))
        table = as_pandas(table)
        own: dict[str, str] = {}
        given = {"decisions": decisions, "scores": scores, "weights": weights, "person": person, "y_true": y_true}
        for argument, values in given.items():
            values = _or_name(values, table)
            if isinstance(values, str):
                [name] = _checked_names(values, argument, table)
                if name in own:
                    raise CaseError(f"{argument}: {name!r} is also given as {own[name]}; expected a column of its own")
                own[name], given[argument] = argument, table[name]
        names = _checked_names(sensitive_features, "sensitive_features", table)
        chosen = [name for name in table if name not in own] if features is None else features
        columns = [*dict.fromkeys([*_checked_names(chosen, "features", table), *names])]
        for name in columns:
            if name in own:
                raise CaseError(f"{own[name]}: {name!r} is also among the features; expected a column of its own")
        labels = given.pop("y_true")
        of_decisions = next((name for name, argument in own.items() if argument == "decisions"), "decision")
        case = cls(
            DecisionRecord(table.index, **given, name=of_decisions),
            table,
            sensitive_features=names,
            features=columns,
            y_true=labels,
            pos_label=pos_label,
            **options,
        )
        case.n_given = case.n_given if n_given is None else n_given
        for name in names:
            case._check_one_group(name)
        if case.weights is not None and case.task != "numbers":
            known = {} if case.y_true is None else {" label": case.y_true & case.labelled, " labelled": case.labelled}
            check_no_counts(case.table.assign(**{" decision": case.decide()}, **known), case.weights)
        for said in doubts(case.table, case.decide() if case.task == "classes" else None, case.person is not None):
            case._model._warn(said)
        return case

    def _check_one_group(self, name: str) -> None:
        """Raise a CaseError if one person is in two groups, since clusters must not span groups."""
        if self.person is None:
            return
        pairs = pd.DataFrame({"person": self.person, "group": self.groups(name).cat.codes.to_numpy()})
        if (twice := pairs.drop_duplicates()["person"].duplicated()).any():
            raise CaseError(
                f"person: expected each person in one group of {name}, found {twice.sum():,} in several; give each "
                "person one value, or leave the column out of sensitive_features"
            )

    @property
    def model(self) -> Any:
        """The model that was given, None of decisions without one; a case of another model is a new case."""
        return None if self.record is not None else self._own_model

    @property
    def outcome(self) -> dict:
        """Name and type of the outcome, as in `column_types`; for a model, the name is None."""
        if isinstance(self._model, DecisionRecord):
            return self._model.outcome
        return {"name": None, "type": "number" if self.task == "numbers" else "boolean"}

    @property
    def weights(self) -> np.ndarray | None:
        """How many people of the population each row stands for; None if all rows stand for equally many."""
        return self._of_record("weight")

    @property
    def person(self) -> np.ndarray | None:
        """The number of the person that each row is about; None if each row is about a different person."""
        return self._of_record("person")

    def _of_record(self, name: str) -> np.ndarray | None:
        return None if self.record is None or name not in self.record else self.record[name].to_numpy()

    @property
    def task(self) -> str:
        """What the model gives: "classes", "scores" or "numbers"."""
        return self._model.meaning.task

    @property
    def pos_label(self):
        """The favourable label."""
        return self._model.meaning.pos_label

    @property
    def decision_threshold(self) -> float | None:
        """Least favourable score, None where the model decides by labels."""
        return self._model.meaning.decision_threshold

    @property
    def log_odds_threshold(self) -> float:
        """Log odds at which a decision turns favourable; 0 for a score that is not a probability, see `log_odds`."""
        return self._model.meaning.log_odds_threshold

    @property
    def unit(self) -> str | None:
        """Unit of the model's own scores."""
        return self._model.meaning.unit

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was inferred, sampled or weighted, and what is doubtful, one sentence each."""
        said, n, given = [*self._model.warnings], len(self.table), self.n_given
        if self.weights is not None:
            said.append(
                "Rates are weighted, with intervals and tests for survey weights; counts of people are unweighted. "
                "If a row stands for several decisions, repeat it and give no weights."
            )
        if self.person is not None:
            said.append(
                f"{n:,} decisions are about {len(np.unique(self.person)):,} people: intervals, tests "
                "and the people needed go by person; where else people are counted, each decision is."
            )
        if n < given:
            said.append(
                f"A random sample of {n:,} of the {given:,} rows is examined; intervals are about all {given:,}."
            )
        return tuple(said)

    @property
    def has_scores(self) -> bool:
        """Whether the model has scores, or decisions came with some."""
        return self.task == "scores" or self._of_record("score") is not None

    @property
    def has_gradients(self) -> bool:
        """Whether the model is a network, which has gradients."""
        return self._model.gradient is not None and self.has_scores

    @checked(n_rows=check_count, random_state=COUNT_OR_ZERO)
    def sample(self, n_rows: int, *, random_state: int = 0) -> "Case":
        """Return a case with a simple random sample of the rows and the same queries; itself if it has no more rows.

        Raises
        ------
        ValueError
            If `n_rows` is not a whole number of at least 1, or `random_state` not one of at least 0.
        """
        rows = _sample_of(len(self.table), n_rows, random_state)
        return self if rows is None else self._part(rows)

    def _part(self, rows: np.ndarray) -> "Case":
        """Return the case of some rows, by their places."""
        part = object.__new__(type(self))
        for name in OF_ANY_ROWS:
            setattr(part, name, getattr(self, name))
        part.table, part.y_true = self.table.iloc[rows], None if self.y_true is None else self.y_true[rows]
        part.labelled = self.labelled[rows]
        part.record = None if self.record is None else self.record.iloc[rows]
        part._drawn = None if self._drawn is None else self._drawn[rows]
        return part

    def one_decision_each(self, *, random_state: int = 0) -> "Case":
        """Return a case with one decision of each person, drawn at random; itself if each person has only one."""
        if self.record is None or self.person is None:
            return self
        rng = np.random.default_rng(derive_seed("a decision of each person", random_state))
        drawn = rng.permutation(len(self.table))
        _, first = np.unique(self.person[drawn], return_index=True)
        rows = np.sort(drawn[first])
        part = self._part(rows)
        part.record = self.record.iloc[rows].drop(columns="person")
        return part

    def groups(self, name: str) -> pd.Series:
        """Return a sensitive column as categories with names, aligned with the table.

        Strings and numbers are sorted, categories keep their order, and missing values are the last category. More than
        ten different numbers make four groups, or groups between the edges in `schema`; groups of dates are named by
        dates.

        Raises
        ------
        CaseError
            If the column is not sensitive.
        """
        if name not in self.sensitive_features:
            raise CaseError(f"name: expected a sensitive column, {', '.join(self.sensitive_features)}, found {name!r}")
        if name not in self._groups:
            edges = self._given[name].edges if name in self._given else None
            feature, named = Feature.groups(name, self.table[name], edges=edges), self.named(name)
            labels = feature.labels if named is None else feature.named(named)
            self._groups[name] = feature.categories(self.table[name], labels)
        return self._groups[name].copy()

    def named(self, name: str) -> Callable[[float], str] | None:
        """Return a function that writes a number of a date or duration column as text; None for other columns."""
        original = self._model.originals.get(name)
        return original.in_words if isinstance(original, Originals) else None

    @cached_property
    def _groups(self) -> dict[str, pd.Series]:
        """The groups of sensitive columns that were asked for."""
        return {}

    def rows(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return rows as the model gets them: its features in its order, in the table's dtypes.

        Raises
        ------
        CaseError
            If a column is missing or a value does not fit its dtype.
        """
        is_frame = isinstance(frame, pd.DataFrame)
        return in_dtypes(as_numbers(frame, self._model.originals) if is_frame else frame, self._dtypes)

    def decode(self, codes: np.ndarray) -> pd.DataFrame:
        """Return inputs by their codes in the schema, as the model gets them: see `rows` and `Schema.decode`.

        Raises
        ------
        CaseError
            If codes stand for no value, or a value of the schema does not fit the table's dtype.
        """
        sizes = np.array(self.schema.sizes)
        is_plain = sizes.max() <= MOST_VALUES and codes.shape[1:] == sizes.shape and codes.dtype.kind == "i"
        if not is_plain or codes.min(initial=0) < 0 or (codes >= sizes).any():
            return self.rows(self.schema.decode(codes))
        columns = {name: values.take(column) for (name, values), column in zip(self._values, codes.T, strict=True)}
        # Object dtype, or pandas would give strings among the objects a dtype of their own.
        objects = [name for name, dtype in self._dtypes.items() if pd.api.types.is_object_dtype(dtype)]
        columns |= {name: pd.Series(columns[name], dtype=object) for name in objects}
        return pd.DataFrame({name: columns[name] for name in self.features})

    @cached_property
    def _values(self) -> list[tuple[str, np.ndarray | pd.api.extensions.ExtensionArray]]:
        """All values of each feature of the schema, in the table's dtype: cast once, taken often."""
        sizes = np.array(self.schema.sizes)
        rows = self.rows(self.schema.decode(np.minimum(np.arange(sizes.max())[:, None], sizes - 1)))
        return [(name, rows[name].array[:size]) for name, size in zip(self.schema.names, sizes, strict=True)]

    def decide(self, rows: pd.DataFrame | None = None, *, anew: bool = False) -> np.ndarray:
        """Return whether the model decides favourably, shape (n_rows,).

        Parameters
        ----------
        rows : DataFrame, ndarray of int of shape (n_rows, n_features), or None
            With at least the features, and any index; codes of the schema; None for the table.
        anew : bool
            Send every row, even those whose answers are known: the model may answer otherwise if it is noisy.

        Raises
        ------
        CaseError
            If the task is "numbers"; if the model fails, or its answers do not fit its earlier ones.
        BudgetSpentError
            If there are more new rows than the limit has left.
        """
        if self._model.meaning.kind == "numbers":
            raise CaseError(
                "decision_threshold: the model gives numbers; the least favourable one makes them decisions"
            )
        if check_flag(anew, "anew"):
            answers = self.queries.send(self._model.decision_question[1], self._rows(rows))
        else:
            answers = self._answers(rows)
        return self._model.meaning.favourable(answers)

    def confirms(self, rows: pd.DataFrame) -> bool:
        """Query rows with known decisions again, outside any limit, and return whether the model answers alike.

        If it does not, `Queries.is_deterministic` is False from then on.
        """
        return self.queries.confirm(*self._model.decision_question, self._rows(rows))

    def values(self, names: Sequence[str]) -> pd.DataFrame:
        """Return all combinations of values of some features, in the table's dtypes; one value represents each bin.

        Returns
        -------
        DataFrame of shape (n_values, n_names)
            In the order of `Schema.assignments`.
        """
        positions = self.schema.positions(names)
        return self.decode(self.schema.combinations(positions)).iloc[:, positions]

    def vary(self, rows: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
        """Return decisions on rows with some features set to all their values in turn, shape (n_rows, n_values).

        Parameters
        ----------
        rows : DataFrame
            The features, in the table's dtypes.
        names : sequence of str
            Features that get all of their `values`.

        Raises
        ------
        CaseError
            If a value does not fit the table's dtype, or as in `decide`.
        BudgetSpentError
            If there are more new rows than the limit has left.
        """
        values = self.values(names)
        found = [np.empty((0, len(values)), dtype=bool)]
        at_once = max(1, ROWS_AT_ONCE // len(values))
        for start in range(0, len(rows), at_once):
            some = rows.iloc[start : start + at_once]
            every = np.tile(np.arange(len(values)), len(some))
            varied = some.take(np.repeat(np.arange(len(some)), len(values)))
            varied = varied.assign(**{name: column.take(every).array for name, column in values.items()})
            found.append(self.decide(varied).reshape(len(some), len(values)))
        return np.concatenate(found)

    @checked(n_rows=COUNT_OR_ZERO)
    def draw(self, n_rows: int, rng: np.random.Generator) -> pd.DataFrame:
        """Return generated inputs: each feature drawn independently, with replacement, from its values in the table.

        A smaller draw from a generator in the same state consists of the first rows of a larger one.
        """
        table = self.table[list(self.features)]
        chosen = rng.integers(len(table), size=(n_rows, len(self.features)))
        return pd.DataFrame({name: table[name].take(rows).array for name, rows in zip(table, chosen.T, strict=True)})

    def score(self, rows: pd.DataFrame | None = None) -> np.ndarray:
        """Return the score of the favourable class, a probability where the model has one, shape (n_rows,).

        Raises
        ------
        CaseError
            If the model gives labels only, or numbers.
        """
        return self._model.meaning.in_unit(self._scores(rows))

    def log_odds(self, rows: pd.DataFrame | None = None) -> np.ndarray:
        """Return log odds of the favourable class, shape (n_rows,); those of a network never round to certainty.

        For a score that is not a probability, its excess over the threshold.

        Raises
        ------
        CaseError
            If the model gives labels only, or numbers.
        """
        return self._model.meaning.log_odds(self._scores(rows))

    def lead(self, rows: pd.DataFrame | np.ndarray) -> np.ndarray:
        """Return the excess of log odds over `log_odds_threshold`, shape (n_rows,).

        Where scores decide, its sign is the decision, even if a score equals the threshold.

        Parameters
        ----------
        rows
            As in `decide`.

        Raises
        ------
        CaseError
            As in `log_odds`.
        """
        return self._model.meaning.lead(self._scores(rows))

    def number(self, rows: pd.DataFrame | None = None) -> np.ndarray:
        """Return the numbers of a regression, shape (n_rows,); CaseError for another task."""
        if self._model.meaning.kind != "numbers":
            raise CaseError("model: gives decisions, expected numbers")
        return self._answers(rows)

    def log_odds_gradient(self, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log odds of the favourable class, shape (n,), and their gradient in the encoding's units, (n, d).

        Parameters
        ----------
        matrix : ndarray of shape (n, d)
            In the encoding's units; not rounded.

        Raises
        ------
        CaseError
            If the model has no gradients.
        """
        if not self.has_gradients:
            raise CaseError("model: has no gradients; expected a Keras or PyTorch network")
        inputs = self.encoding.unscaled(matrix)
        odds, gradient = self.queries.send(lambda X: self._model.gradient(X, self._model.meaning.label), inputs)
        return odds, gradient * self.encoding.scale

    @cached_property
    def schema(self) -> Schema:
        """The domain of the features, with wide numbers in bins."""
        return Schema(tuple(each for each in self._domain.features if each.name in self.features))

    @cached_property
    def _domain(self) -> Schema:
        """The schema of the whole table, sensitive columns that the model does not get included."""
        with case_errors("schema: "):
            features = [
                self._given[name] if name in self._given else Feature.from_column(name, column)
                for name, column in self.table.items()
            ]
            domain = Schema(tuple(features))
            domain.encode(self.table)
        return domain

    @cached_property
    def encoding(self) -> Encoding:
        """The numeric view of the features, see `Encoding`."""
        return Encoding(self.table[list(self.features)])

    def __repr__(self) -> str:
        size = (
            f"{len(self.table):,} rows, {len(self.features)} features, sensitive {', '.join(self.sensitive_features)}"
        )
        share = "" if self.task == "numbers" else f", {self.decide().mean():.0%} favourable"
        return f"Case: {self._model.name}, {size}; task {self.task}{share}"

    def _answers(self, rows) -> np.ndarray:
        """Return the answers that decide, as numbers; for the table itself, those recorded or drawn."""
        if rows is None and self._drawn is not None:
            return self._drawn
        rows = self._rows(rows)
        if self.record is not None:
            return rows["answer"].to_numpy()
        return self.queries.answers(*self._model.decision_question, rows)

    def _scores(self, rows) -> np.ndarray:
        """Return the scores that the model has, or that came with decisions."""
        rows = self._rows(rows)
        if self.record is not None:
            if "score" not in rows:
                raise CaseError("scores: expected a score for each decision, none are given")
            return rows["score"].to_numpy()
        if self._model.score_question is None:
            raise CaseError("model: gives labels, expected a score; hand in an object with predict_proba")
        return self.queries.answers(*self._model.score_question, rows)

    def _rows(self, rows) -> pd.DataFrame:
        """Return the input of a query: the features of rows, or the recorded decisions of the table's people."""
        if self.record is not None:
            if rows is not None:
                raise NoModelError(NO_MODEL)
            return self.record
        if rows is None:
            return self.table[list(self.features)]
        return self.decode(rows) if isinstance(rows, np.ndarray) else self.rows(rows)


def _checked_names(names, argument: str, table: pd.DataFrame) -> tuple[str, ...]:
    """Return names of columns of a table, each given once; raises a CaseError that names the argument."""
    with case_errors():
        found = tuple(check_names(names, argument, table.columns))
    if not found:
        raise CaseError(f"{argument}: expected at least one column of the table, found none")
    return found


def _or_name(values, table: pd.DataFrame):
    """Return values unchanged; if they are a column of the table, its name, so that it is not kept as a feature."""
    column = values.iloc[:, 0] if isinstance(values, pd.DataFrame) and values.shape[1] == 1 else values
    is_own = isinstance(column, pd.Series) and column.name in table and table[column.name].equals(column)
    return column.name if is_own else values


def _check_told_apart(names: tuple[str, ...]) -> None:
    """Raise a CaseError if two sets of sensitive columns read alike in a report: "a and b", and "a" with "b"."""
    seen: dict[tuple[str, ...], tuple[str, ...]] = {}
    for some in chain.from_iterable(combinations(names, size) for size in (1, 2, 3)):
        words = tuple(re.split(", | and ", " and ".join(some)))
        if (other := seen.setdefault(words, some)) != some:
            raise CaseError(
                f"sensitive_features: expected names that tell sets of columns apart, found {list(other)} and "
                f"{list(some)}, which read alike; rename a column"
            )


def _feature_names(table, features, fitted, y_name) -> tuple[str, ...]:
    """Return the columns that a model gets: those given, else those it was fitted to, else all but the labels."""
    if features is not None:
        return _checked_names(features, "features", table)
    if fitted is None:
        return _checked_names([name for name in table.columns if name != y_name], "features", table)
    if lacking := [name for name in fitted if name not in table.columns]:
        raise CaseError(f"table: lacks {', '.join(lacking)}, which the model was fitted to")
    return tuple(fitted)


def _sample_of(n: int, n_rows: int, random_state: int) -> np.ndarray | None:
    """Return sorted positions of rows drawn without replacement; None if all rows are wanted."""
    if n <= n_rows:
        return None
    return np.sort(
        np.random.default_rng(derive_seed("sample of a case", random_state)).choice(n, n_rows, replace=False)
    )


def _labels(table: pd.DataFrame, y_true) -> pd.Series | None:
    if y_true is None:
        return None
    if isinstance(y_true, str):
        y_true = table[_checked_names(y_true, "y_true", table)[0]]
    with case_errors():
        labels = align(y_true, table.index, "y_true")
    if pd.api.types.infer_dtype(labels) == "decimal":
        labels = labels.astype(float)
    check_values(labels, "y_true")
    return labels


def _given_features(schema, table: pd.DataFrame) -> dict[str, Feature]:
    """Return the features that a schema describes, by name; edges alone define bins of the numbers in the column."""
    with case_errors("schema: "):
        given = read_schema(schema) if isinstance(schema, str | Path) else schema
        if isinstance(given, Schema):
            given = {feature.name: feature for feature in given.features}
        if not isinstance(given, Mapping):
            raise CaseError(f"expected a Schema, a mapping or a path, found {type(given).__name__}")
        found = {}
        for name, part in given.items():
            if name not in table.columns:
                raise CaseError(f"{name!r} is not among the columns, {', '.join(table.columns)}")
            if isinstance(part, Mapping) and set(part) == {"edges"}:
                part = Feature.from_column(name, table[name], edges=part["edges"])
            found[name] = part if isinstance(part, Feature) else Feature.from_description(name, part)
    return found

"""The command line: ``fairlab audit | compare | monitor | site | labs``, and the commands of the suite.

A command imports what it needs when it is called, so that help and errors come at once. The suite's commands are loaded
for the list of all commands, and when one is called that is not among those of this module.
"""

import csv
import faulthandler
import json
import logging
import os
import shlex
import sys
import time
import tomllib
import warnings
from contextlib import contextmanager, nullcontext, redirect_stdout, suppress
from importlib.util import find_spec
from pathlib import Path

import click

from fairlab import paths
from fairlab.checks import EXTRAS, MissingExtraError, check_number, required, suggestion
from fairlab.data.errors import DataError
from fairlab.data.project import project

MORE_SECONDS, MAX_SECONDS = 60, 1e8
WRONG_CALL, SIGNIFICANT, NOT_ASSESSED, INTERRUPTED = 2, 3, 4, 130  # exit statuses
NEEDED_BY_SITE = ("sphinx", "myst_nb", "pydata_sphinx_theme", "numpydoc", "sphinx_design", "latex2mathml", "nbgrader")
AT_LEAST_ONE = click.IntRange(min=1)
SEED = click.IntRange(min=0)
PLACES = ("FAIRLAB_ROOT", "FAIRLAB_RESULTS", "FAIRLAB_DATA_CACHE", "FAIRLAB_DATA_MIRROR")  # folders, or an address


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status: 0 for success, 1 for a failure, 2 for a wrong call."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    for name in PLACES:  # kernels and jobs run in other folders
        if (value := os.environ.get(name)) and "://" not in value:
            os.environ[name] = str(Path(value).absolute())
    try:
        # Click's own `main` would drop the message of an interruption.
        with fairlab.make_context("fairlab", list(given)) as context:
            return fairlab.invoke(context) or 0
    except click.exceptions.Exit as end:  # of --help
        return end.exit_code
    except click.UsageError as error:
        error.show()
        return WRONG_CALL
    except KeyboardInterrupt as stop:
        logging.getLogger("asyncio").disabled = True  # it would log each unfinished task
        said = "interrupted" + "; finished trials are cached" * (given[:1] == ["run"])
        print(f"fairlab: {str(stop) or said}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError as error:  # the reader closed the pipe
        if error.filename:  # of an output; else nobody reads what is printed
            print(f"fairlab: {error}", file=sys.stderr)
        else:
            sys.stdout = None
        return 1
    except (KeyError, TypeError, ValueError, OSError, RuntimeError, DataError, MissingExtraError) as error:
        # A KeyError's text is its argument in quotes; the message is the argument.
        message = error.args[0] if isinstance(error, KeyError) and error.args else error
        print(f"fairlab: {message}", file=sys.stderr)
        return WRONG_CALL if isinstance(error, KeyError | TypeError) else 1


class Group(click.Group):
    """Commands; help shows them in the order of their definition, each with its whole first sentence."""

    group_class = type

    def list_commands(self, ctx):
        """Return the names of the commands."""
        return list(self.commands)

    def format_commands(self, ctx, formatter):
        """Write the commands to the help."""
        rows = [(name, self.get_command(ctx, name).get_short_help_str(limit=200)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class AllCommands(Group):
    """The commands of this module, and those of the suite where they are needed."""

    group_class = Group  # or `labs` would have the commands of the suite, too

    def list_commands(self, ctx):
        """Return the names of the commands, of the suite first."""
        from fairlab.suite.cli import commands

        self.commands = commands.commands | self.commands
        return super().list_commands(ctx)

    def get_command(self, ctx, name):
        """Return a command by its name; None if there is none."""
        if name not in self.commands:
            self.list_commands(ctx)
        return super().get_command(ctx, name)


@click.group(cls=AllCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fairlab")
@click.pass_context
def fairlab(context):
    """Reproduce papers on fairness testing, and audit models."""
    context.obj = _write_bars


def _write_bars(card):
    """Write the figure of the README, which is the site's."""
    from fairlab.site.rows import write_bars

    return write_bars(card)


def _names(given: str | list[str]) -> list[str]:
    """Return the names in a list with commas; a name with a comma is in quotes, as in a CSV."""
    if isinstance(given, list):  # of a configuration
        return given
    try:
        [names] = csv.reader([given], skipinitialspace=True, strict=True)
    except (ValueError, csv.Error) as error:
        raise ValueError(f"expected names with commas between them, found {given!r} ({error})") from None
    return [name.strip() for name in names if name.strip()]


# Models of users


NEVER_CONFIGURED = ("config", "trust_pickle")  # whoever writes a file must not decide that it may run code
KINDS = {
    click.INT.name: (int, "a whole number"),
    click.IntRange.name: (int, "a whole number"),
    click.FLOAT.name: (int | float, "a number"),
    click.BOOL.name: (bool, "true or false"),
}


def _configured(context, option, path):
    """Take the options of an audit from a TOML file; those of the command line come first."""
    if path is None:
        return
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise click.BadParameter(f"expected a TOML file, found {path} ({error})") from None
    context.meta["config"], context.meta["accept"] = path, content.pop("accept", [])
    if not isinstance(context.meta["accept"], list):
        raise click.BadParameter(f"{path}: accept: expected a list of tables, found {context.meta['accept']!r}")
    known = {{"dtypes": "dtype"}.get(parameter.name, parameter.name): parameter for parameter in context.command.params}
    values = {}
    for key, value in content.items():
        name = key.replace("-", "_")
        if name in NEVER_CONFIGURED:
            raise click.BadParameter(f"{path}: {key}: expected on the command line only, found in a configuration")
        if name not in known:
            hint = suggestion(name, [name for name in known if name not in NEVER_CONFIGURED])
            raise click.BadParameter(f"{path} has an unknown key {key!r}{hint}")
        if known[name].name in values:  # fail-on beside fail_on
            raise click.BadParameter(f"{path}: {key}: expected each option once, found it in two spellings")
        values[known[name].name] = _of_kind(value, name, known[name])
    context.default_map = values


def _of_kind(value, name, parameter):
    """Return a value of a configuration as an option takes it."""
    if parameter.multiple or parameter.type.name == _names.__name__:
        if isinstance(value, str):
            return [value] if parameter.multiple else value
        expected = "a string or a list of strings"
        fits = isinstance(value, list) and all(isinstance(v, str) for v in value)
    elif name == "pos_label":
        if isinstance(value, bool | int | float):
            return str(value)
        expected, fits = "a label", isinstance(value, str)
    else:
        kind, expected = KINDS.get(parameter.type.name, (str, "a string"))
        fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if not fits:
        raise click.BadParameter(f"{name}: expected {expected}, found {value!r}")
    return value


TYPES = click.option(
    "--dtype",
    "dtypes",
    multiple=True,
    metavar="COLUMN=TYPE",
    help="type of a column, such as zip=str or day=date; numbers with a leading zero are text by default",
)
CASE_PARAMETERS = (
    click.argument(
        "table", metavar="TABLE", required=False, help="one row per person: .csv, .tsv, .parquet or .feather"
    ),
    click.option(
        "--sensitive-features",
        type=_names,
        required=True,
        metavar="A,B",
        help="columns with the sensitive features; quote a name that has a comma, as in '\"a, b\",c'",
    ),
    click.option(
        "--features", type=_names, metavar="A,B", help="inputs of the model (default: all columns except --y-true)"
    ),
    TYPES,
    click.option("--y-true", metavar="COLUMN", help="column with the true labels; not an input of the model"),
    click.option("--pos-label", metavar="LABEL", help="the favourable label"),
    click.option("--decision-threshold", type=float, metavar="SCORE", help="scores of at least this are favourable"),
    click.option("--decisions", metavar="COLUMN", help="column with decisions; then give TABLE only, no MODEL"),
    click.option("--scores", metavar="COLUMN", help="with --decisions: scores on which decisions were based"),
    click.option("--weights", metavar="COLUMN", help="with --decisions: survey weights"),
    click.option(
        "--person", metavar="COLUMN", help="with --decisions: column that identifies people, if some have several"
    ),
    click.option("--program", is_flag=True, help="MODEL is a command line that prints 1 (favourable) or 0"),
    click.option(
        "--batch-program",
        is_flag=True,
        help="MODEL is a command line that reads rows as CSV and prints one number per row",
    ),
    click.option(
        "--trust-pickle",
        is_flag=True,
        help="MODEL may be a .pkl or .joblib, or a Keras file for Keras before 3.12; opening it runs any code that it "
        "contains, with your permissions",
    ),
)


def _of_case(command):
    """Add the options that define a case to a command."""
    for parameter in reversed(CASE_PARAMETERS):
        command = parameter(command)
    return command


_max_seconds = click.option(
    "--max-seconds",
    type=float,
    metavar="SECONDS",
    help="time limit, even if the model does not respond (default: no limit)",
)

OF_DECISIONS = ("scores", "weights", "person")
OF_MODELS = ("program", "batch_program", "trust_pickle", "proxies")
AUDIT_OPTIONS = (
    *("methods", "proxies", "confidence_level", "margin", "within", "verdict_on", "max_seconds"),
    *("model_name", "model_version"),
)


@fairlab.command(
    epilog="Exit status: 0 if at least one comparison was made and no difference found, 3 if one was found or, "
    "with --require-within, a comparison is undecided, 4 if nothing could be tested, or a rule or the baseline "
    "could not be judged, 2 for an invalid call, 1 for an error in a method or the model.",
)
@click.argument(
    "model",
    metavar="MODEL",
    required=False,
    help="module:name from the current folder, a .keras or .h5 file, or see below; none with --decisions",
)
@_of_case
@click.option(
    "--proxies",
    is_flag=True,
    help="also vary the predictors of a sensitive feature that is not an input of the model",
)
@click.option(
    "--codes",
    metavar="FOLDER",
    help="with --decisions: folder for files such as 'decisions/*.parquet', encoded once; all their rows are counted",
)
@click.option("--methods", type=_names, metavar="A,B", help="run only these methods (default: all that apply)")
@click.option(
    "--budget",
    type=int,
    default=200_000,
    metavar="N",
    show_default=True,
    help="maximum number of rows to query the model with; the determinism check adds up to 1,000, and ten pairs of "
    "each finding; if the table has more than half as many rows, a random sample is audited",
)
@click.option(
    "--confidence-level", type=float, default=0.95, metavar="LEVEL", show_default=True, help="of tests and intervals"
)
@click.option(
    "--margin",
    type=float,
    default=0.005,
    metavar="SIZE",
    show_default=True,
    help="differences of rates, flip rates and correlations up to this are not findings",
)
@click.option(
    "--within",
    type=float,
    metavar="SIZE",
    help="the difference to be ruled out (default: 0.05, or --margin if that is larger)",
)
@click.option(
    "--require-within", is_flag=True, help="exit with 3 unless this difference is ruled out in every comparison"
)
@click.option(
    "--verdict-on",
    type=click.Choice(("people", "all")),
    default="people",
    show_default=True,
    help="findings that decide the verdict: about people in the table, or also about generated inputs",
)
@_max_seconds
@click.option("--model-name", default="", metavar="NAME", help="what the report calls the model")
@click.option("--model-version", default="", metavar="VERSION", help="version of the model, for the report")
@click.option("--seed", type=SEED, default=0, show_default=True, help="random seed")
@click.option("--html", metavar="FILE", help="write the report as a page")
@click.option("--json", metavar="FILE", help="write the report as JSON")
@click.option(
    "--config",
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_configured,
    help="read options from a TOML file",
)
@click.option(
    "--fail-on",
    multiple=True,
    metavar="RULE",
    help="exit with 3 only if a rule is violated, such as 'selection_rate_difference > 0.05' or 'impact_ratio < 0.8'",
)
@click.option(
    "--baseline", metavar="FILE", help="JSON report of an earlier audit: exit with 3 if something is new or worse"
)
@click.option("--junit", metavar="FILE", help="write the tests as JUnit XML")
@click.option("--model-card", metavar="FILE", help="write a model card in Markdown")
@click.option(
    "--rows",
    type=click.Choice(("none", "binned", "all")),
    default="binned",
    help="rows about people in the files: none, binned (the default), or all without binning",
)
@click.pass_context
def audit(
    context,
    html,
    json,
    junit,
    model_card,
    rows,
    seed,
    budget,
    fail_on,
    baseline,
    require_within,
    codes,
    **options,
):
    """Audit your model with all methods."""
    files = options["model"] or options["table"] if options["decisions"] is not None else None
    if codes is not None or (files is not None and ("*" in files or Path(files).is_dir())):
        return _audit_files(context, codes)
    from fairlab.auditing import audit, forecast
    from fairlab.auditing.guard import Accepted, Rule, judge, read_baseline
    from fairlab.auditing.wording import count, lines, rates, reasons
    from fairlab.cases.finding import listed

    files = {"html": html, "json": json, "junit": junit, "model_card": model_card}
    start, seconds = time.monotonic(), options["max_seconds"]
    with _wrong_calls():
        rules = [Rule.of(text) for text in fail_on]
        accepted = [Accepted.of(content) for content in context.meta.get("accept", ())]
        for each in accepted:
            each.check(options["sensitive_features"])
        [model], [table] = _inputs(1, options.pop("model"), options.pop("table"), **options)
        _check_outputs([model], table, baseline, context.meta.get("config"), **files)
        if baseline is not None:
            read_baseline(baseline)  # an invalid report is an error before the model is queried
        of_audit = {name: options.pop(name) for name in AUDIT_OPTIONS}
        with _time_limit(seconds):
            most = None if model is None else max(budget // 2, 2)
            case = _case(model, table, **options, max_rows=most, random_state=seed, max_seconds=seconds)
        if seconds is not None:
            of_audit["max_seconds"] = max(seconds - (time.monotonic() - start), 0.01)
        if model is not None:
            expected = max(forecast(case, budget=budget), 1)
            print(f"fairlab: the model will take {expected:.0f} s at most", file=sys.stderr)
        report = audit(case, budget=budget, random_state=seed, **of_audit)
        judged = judge(report, rules=rules, baseline=baseline, accepted=accepted, require_within=require_within)
    with _beside(*files.values()):
        for heading, sentence in [*lines(report), *rates(report)]:
            print(f"{heading}: {sentence}")
        for sentence in [*reasons(report), *report.warnings]:
            print(sentence)
        made, missed = count(len(report.findings), "comparison"), count(len(report.skipped), "reason")
        written = listed(path for path in (html, json) if path is not None)
        where = f"Written to {written}:" if written else "--html FILE or --json FILE writes"
        print(f"{where} {made}, and {missed} why others were not made.")
        for name, path in files.items():
            if path is not None:
                getattr(report, f"to_{name}")(path, **({"rows": rows} if name in ("html", "json") else {}))
        words = {"fails": judged.failing, "not judged": judged.not_judged, "accepted": judged.accepted}
        for word, sentences in (words | {"no effect": judged.unused}).items():
            for sentence in sentences if rules or baseline or accepted or require_within else ():
                print(f"{word}: {sentence}")
        if judged.failing:
            return SIGNIFICANT
        if judged.not_judged or not report.n_tests:
            return NOT_ASSESSED
        if rules or baseline:  # the verdict by itself may read as a failure
            held = ["no rule is violated"] * bool(rules)
            held += [f"nothing is new or worse than in {baseline}"] * bool(baseline)
            print(f"passes: {listed(held)}{', except for what is accepted' * bool(judged.accepted)}")
        return 0


def _beside(*files: str | None):
    """Return a context that prints to standard error if one of some files is standard output."""
    is_taken = any(map(paths.is_standard_output, filter(None, files)))
    return redirect_stdout(sys.stderr) if is_taken else nullcontext()


OF_FILES = ("model", "table", "decisions", "sensitive_features", "features", "pos_label", "confidence_level", "codes")


def _audit_files(context, codes):
    """Count the decisions in files: rates and impact ratios of all rows, and FairTest."""
    from fairlab.auditing.files import audit_files

    given = {
        name for name in context.params if context.get_parameter_source(name).name not in ("DEFAULT", "ENVIRONMENT")
    }
    if strange := sorted(given - {*OF_FILES, "seed", "json"}):
        raise click.UsageError(f"--{strange[0].replace('_', '-')} is for tables in memory, found --codes or a pattern")
    options = {name: context.params[name] for name in OF_FILES[2:-1]}
    _, [files] = _inputs(1, context.params["model"], context.params["table"], decisions=options["decisions"])
    with _wrong_calls():
        _check_outputs([], json=context.params["json"])
        found = audit_files(files, codes, random_state=context.params["seed"], **options)
    with _beside(context.params["json"]):
        print(found)
    if context.params["json"] is not None:
        found.to_json(context.params["json"])
    if found.report.counts()["significant"].any():
        return SIGNIFICANT
    return NOT_ASSESSED if len(found.not_assessed) == len(found.rates) else 0


@fairlab.command(
    epilog="Exit status: 0 if nothing became worse, 3 if something did, 4 if nothing could be compared, 2 for an "
    "invalid call.",
)
@click.argument("model_a", metavar="MODEL_A", required=False, help="the older model, as for fairlab audit")
@click.argument("model_b", metavar="MODEL_B", required=False, help="the newer model")
@_of_case
@click.option(
    "--confidence-level", type=float, default=0.95, metavar="LEVEL", show_default=True, help="of tests and intervals"
)
@click.option(
    "--within",
    type=float,
    default=0.05,
    metavar="SIZE",
    show_default=True,
    help="the change to be ruled out",
)
@_max_seconds
@click.option("--html", metavar="FILE", help="write the comparison as a page")
@click.option("--json", metavar="FILE", help="write the comparison as JSON")
def compare(model_a, model_b, confidence_level, within, max_seconds, html, json, **of_case):
    """Report what a newer model improves and worsens; with --decisions, compare two tables instead of two models."""
    from fairlab.auditing import compare

    with _wrong_calls():
        models, tables = _inputs(2, model_a, model_b, of_case.pop("table"), **of_case)
        _check_outputs(models, *tables, html=html, json=json)
        with _time_limit(max_seconds):
            cases = [_case(*each, max_seconds=max_seconds, **of_case) for each in zip(models, tables, strict=True)]
            compared = compare(*cases, confidence_level=confidence_level, within=within)
    with _beside(html, json):
        print(compared.summary)
        if len(compared.rows):
            print(compared.to_frame().to_string(index=False, float_format="{:.3g}".format))
    for write, path in ((compared.to_html, html), (compared.to_json, json)):
        if path is not None:
            write(path)
    return SIGNIFICANT if compared.is_worse else 0 if len(compared.rows) else NOT_ASSESSED


@contextmanager
def _wrong_calls():
    """Turn an error of the caller into one line and an exit; an error inside a method, which has a note, is raised."""
    try:
        yield
    except (ValueError, TypeError, OSError) as error:
        if getattr(error, "__notes__", None):
            raise
        print(f"fairlab: {error}", file=sys.stderr)
        raise click.exceptions.Exit(WRONG_CALL) from error
    finally:
        faulthandler.cancel_dump_traceback_later()


def _time_limit(seconds):
    """Interrupt a block after some seconds; end the process by force after twice the seconds and a minute."""
    from fairlab.cases.queries import time_limit

    if seconds is None:
        return nullcontext()
    check_number(seconds, "--max-seconds", above=0)
    # For what cannot be interrupted, such as compiled code; it prints where that is.
    by_force = min(2 * seconds + MORE_SECONDS, MAX_SECONDS)
    faulthandler.dump_traceback_later(by_force, exit=True, file=sys.__stderr__)
    return time_limit(seconds, "--max-seconds")


def _inputs(n, *given, decisions, **options) -> tuple[list, list]:
    """Return `n` models and as many tables: with decisions there is no model, and every argument is a table."""
    given, expected = [each for each in given if each is not None], n + (decisions is None)
    if len(given) != expected:
        names = ["TABLE"] * n if decisions is not None else ["MODEL"] * n + ["TABLE"]
        also = " with --decisions, and no model" if decisions is not None else ""
        raise click.UsageError(f"expected {' '.join(names)}{also}, found {' '.join(given) or 'nothing'}")
    idle = OF_DECISIONS if decisions is None else OF_MODELS
    if strange := [name for name in idle if options.get(name)]:
        why = "needs --decisions" if decisions is None else "is for models, found --decisions"
        raise click.UsageError(f"--{strange[0].replace('_', '-')} {why}")
    return ([None] * n, given) if decisions is not None else (given[:n], given[n:] * n)


@contextmanager
def _warnings_as_lines():
    """Print warnings like other lines on standard error, without places in the code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: print(f"fairlab: {message}", file=sys.stderr)
        yield


@_warnings_as_lines()
def _case(
    model, table, *, dtypes, y_true, pos_label, program, batch_program, trust_pickle, max_seconds=None, **settings
):
    from fairlab.auditing.loading import command_model, label, load_model
    from fairlab.cases import Case

    table = _read(table, dtypes)
    columns = {name: settings.pop(name) for name in ("decisions", *OF_DECISIONS)} | {"y_true": y_true}
    for option, name in columns.items():
        if name is not None and name not in table:
            raise ValueError(f"--{option.replace('_', '-')}: the table has no column {name!r}{suggestion(name, table)}")
    if model is None:
        pos_label = None if pos_label is None else label(pos_label, table[columns["decisions"]])
        return Case.from_decisions(table, **columns, pos_label=pos_label, **settings)
    truth = table.get(y_true)
    pos_label = None if pos_label is None else label(pos_label, truth)
    if program and batch_program:
        raise ValueError("--program: expected one of --program and --batch-program, found both")
    if program or batch_program:
        model = command_model(model, in_batches=batch_program, timeout=max_seconds)
    else:
        model = load_model(model, trust_pickle=trust_pickle)
    if program:  # which returns True or False, whatever the labels are
        if truth is not None:
            table, y_true = table.drop(columns=y_true), _is_favourable(truth, pos_label)
        pos_label = True
    return Case(model, table, y_true=y_true, pos_label=pos_label, **settings)


@_warnings_as_lines()
def _read(table, dtypes=(), **options):
    """Return a table from a file; print a line for each change made in reading it."""
    from fairlab.auditing.loading import read_table

    pairs = [text.rpartition("=") for text in dtypes]
    for text, (column, _, kind) in zip(dtypes, pairs, strict=True):
        if not (column and kind):
            raise ValueError(f"--dtype: expected COLUMN=TYPE, found {text!r}")
    return read_table(table, {column: kind for column, _, kind in pairs}, **options)


def _is_favourable(truth, pos_label):
    """Return whether true labels are favourable; missing labels stay missing."""
    if pos_label is None or not (truth == pos_label).any():
        known = ", ".join(map(str, truth.dropna().unique()[:10]))
        raise ValueError(f"--pos-label: expected the favourable label among those of --y-true ({known})")
    return (truth == pos_label).astype("boolean").mask(truth.isna())


def _check_outputs(models, *read, **outputs) -> None:
    """Refuse outputs that cannot be written, or that would replace what is read, before a model is called."""
    models = [model for model in models if model is not None]
    parts = [part for model in models for part in (model, f"{model.partition(':')[0].replace('.', '/')}.py")]
    for model in models:
        with suppress(ValueError):
            parts += shlex.split(model)  # of a program
    given = {f"--{name.replace('_', '-')}": path for name, path in outputs.items() if path is not None}
    paths.check_outputs(given, [path for path in (*parts, *read) if path])


# The monitor


class OfMonitor(click.Command):
    """A command of the monitor, which needs the extra."""

    def invoke(self, ctx):
        """Run the command; an error names the extra where a package is not installed, or says what a database did."""
        for name in (name for name, extra in EXTRAS.items() if extra == "monitor"):
            required(name)
        import sqlite3

        import sqlalchemy as sa

        try:
            return super().invoke(ctx)
        except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:  # neither is a RuntimeError
            raise RuntimeError(f"database: {getattr(error, 'orig', error)}") from error


class MonitorGroup(Group):
    """Commands of the monitor."""

    command_class = OfMonitor


@fairlab.group(cls=MonitorGroup)
def monitor():
    """Monitor the decisions of a model: FairTest as a service."""


database = click.option(
    "--database",
    default="sqlite:///fairlab-monitor.db",
    metavar="URL",
    show_default=True,
    help="sqlite:///FILE or postgresql://USER@HOST/NAME",
)


def _store(url, *, is_new=True):
    """Open a database and bring its tables to this version; one that does not exist is made if it may be new."""
    from fairlab.monitoring import migrations
    from fairlab.monitoring.store import Store

    return migrations.migrated(Store(url, is_new=is_new))


@monitor.command()
@database
@click.option("--host", default="127.0.0.1", show_default=True, help="address to listen on")
@click.option("--port", type=click.IntRange(0, 65_535), default=8300, show_default=True)
@click.option(
    "--most-bytes", type=AT_LEAST_ONE, default=16 * 2**20, show_default=True, help="maximum size of a request"
)
@click.option(
    "--internal-host", "internal", multiple=True, metavar="HOST", help="an internal host that webhooks may use"
)
def serve(database, host, port, most_bytes, internal):
    """Run the monitor until it is stopped."""
    from fairlab.monitoring.service import serve

    serve(database, host, port, most_bytes, [name.lower() for name in internal])  # as addresses of webhooks are read


@monitor.command()
@database
def migrate(database):
    """Upgrade the tables of a database to the newest version; `serve` also does this."""
    _store(database)


@monitor.command("confirm-clock")
@database
def confirm_clock(database):
    """Confirm the clock after it was set or after a long pause: deletion by age and scheduled looks resume."""
    _store(database, is_new=False).confirm_clock()


@monitor.command()
@database
@click.argument("file", metavar="FILE", help="a new file")
def backup(database, file):
    """Write the whole database to a file, even while the server runs."""
    from fairlab.monitoring.backup import backup
    from fairlab.monitoring.store import Store

    backup(Store(database, is_new=False), file)


@monitor.command()
@database
@click.argument(
    "file", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="written by fairlab monitor backup"
)
def restore(database, file):
    """Replace the whole database by a backup."""
    from fairlab.monitoring.backup import restore
    from fairlab.monitoring.store import Store

    restore(Store(database), file)


@monitor.group(cls=MonitorGroup)
def token():
    """Create, list or revoke tokens."""


@token.command("create")
@database
@click.option("--role", type=click.Choice(("writer", "reader", "admin")), required=True)
@click.option("--name", default="", help="the owner, for the list")
def create_token(database, role, name):
    """Print a new token; it is stored hashed and cannot be shown again."""
    print(_store(database).create_token(role, name))


@token.command("list")
@database
def list_tokens(database):
    """List the tokens without their secrets."""
    for one in _store(database, is_new=False).token_list():
        print(f"{one.id:>6}  {one.role:<6}  {one.name}{'  revoked' if one.revoked else ''}")


@token.command("revoke")
@database
@click.argument("number", type=AT_LEAST_ONE)
def revoke_token(database, number):
    """Revoke a token by its number, with which it begins."""
    if not _store(database, is_new=False).revoke_token(number):
        raise ValueError(f"number: no token {number}, or it is revoked already")


def of_client(command):
    """Add the options of a command that is a client of a running monitor."""
    command = click.option(
        "--token",
        envvar="FAIRLAB_MONITOR_TOKEN",
        show_envvar=True,  # a call without one names it
        required=True,
        help="printed by fairlab monitor token create",
    )(command)
    return click.option("--url", default="http://127.0.0.1:8300", show_default=True, help="address of the monitor")(
        command
    )


@monitor.command()
@click.argument("file", metavar="FILE.csv", required=False, type=click.Path(exists=True, dir_okay=False))
@TYPES
@click.option(
    "--from-audit",
    metavar="REPORT.json",
    type=click.Path(exists=True, dir_okay=False),
    help="use this report instead of FILE",
)
@click.option("--sensitive-features", "sensitive", type=_names, metavar="NAME,...")
@click.option("--output", metavar="NAME", help="the decision")
@click.option("--true-label", metavar="NAME", help="for error profiling: the label that the decision predicts")
@click.option(
    "--look-every",
    type=AT_LEAST_ONE,
    metavar="ROWS",
    help="rows between two looks (default: as many as in the file or the audit)",
)
@click.option("--event-id", metavar="NAME", help="column that identifies decisions (default: event_id)")
@of_client
def register(file, dtypes, from_audit, sensitive, output, true_label, look_every, event_id, url, token):
    """Register an investigation of decisions like those in a CSV or an audit, and print its number."""
    from fairlab.monitoring import Client, registration_of, registration_of_audit

    idle = {"FILE.csv": file, "--sensitive-features": sensitive, "--true-label": true_label, "--event-id": event_id}
    if from_audit is not None:
        if given := [name for name, value in idle.items() if value]:
            raise click.UsageError(f"--from-audit: expected no {given[0]} beside it")
        report = json.loads(Path(from_audit).read_text(encoding="utf-8"))
        with _warnings_as_lines():
            fields = registration_of_audit(report, output=output)
        fields["look_every"] = {"rows": look_every or max(report["provenance"]["people"], 10)}
        names = [*report["features"], *report["sensitive_features"]]
    else:
        for name, value in {"FILE.csv": file, "--sensitive-features": sensitive, "--output": output}.items():
            if not value:
                raise click.UsageError(f"expected {name}, or --from-audit, found neither")
        frame = _read(file, dtypes, texts=[event_id or "event_id", "person"])
        frame = _with_event_ids(frame, event_id)
        kind = {"kind": "error profiling", "true_label": true_label} if true_label else {}
        fields = registration_of(
            frame, sensitive_features=sensitive, output=output, look_every={"rows": look_every or len(frame)}, **kind
        )
        names = list(frame.columns)
    types = {name: column["type"] for name, column in fields["columns"].items()}
    left = [name for name in dict.fromkeys(names) if name not in types]
    print("registered:", ", ".join(f"{name} ({kind})" for name, kind in types.items()), file=sys.stderr)
    if left:
        print(
            "not registered, as they identify rows or people, or have missing numbers:",
            ", ".join(left),
            file=sys.stderr,
        )
    with Client(url, token) as client:
        print(client.register(fields))


def _with_event_ids(frame, name):
    """Return a table with the named column, if a name is given, renamed to event_id, and without any other event_id."""
    if not name:
        return frame
    if name not in frame.columns:
        raise ValueError(f"--event-id: no column {name!r}; there are {', '.join(frame.columns)}")
    return frame.drop(columns=["event_id"] if name != "event_id" else [], errors="ignore").rename(
        columns={name: "event_id"}
    )


@monitor.command()
@click.argument("file", metavar="FILE.csv", type=click.Path(exists=True, dir_okay=False))
@click.option("--investigation", type=AT_LEAST_ONE, required=True, metavar="NUMBER")
@click.option(
    "--event-id",
    metavar="NAME",
    help="column that identifies decisions (default: event_id; without it, the file's hash and the row number)",
)
@click.option("--look", is_flag=True, help="then test the new rows, and print the reports of all new looks")
@of_client
def send(file, investigation, event_id, look, url, token):
    """Send the decisions of a CSV; decisions that are sent again count once, as long as they are stored."""
    import hashlib

    from fairlab.monitoring import Client, MonitorError

    with Client(url, token) as client:
        columns = client.investigation(investigation)["columns"]
        texts = [name for name, column in columns.items() if column["type"] == "category"]
        frame = _read(file, texts=[*texts, event_id or "event_id", "person"])
        frame = _with_event_ids(frame, event_id)
        if "event_id" not in frame.columns:
            with Path(file).open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()[:16]
            frame["event_id"] = [f"{digest}:{row}" for row in range(1, len(frame) + 1)]
            print(
                "decisions are identified by the file's hash and row number: a changed file counts as new",
                file=sys.stderr,
            )
        earlier = client.wait(investigation) if look else 0
        try:
            answer = client.send(investigation, frame)
        except MonitorError as error:
            if error.n_sent:
                print(
                    f"{error.n_sent:,} rows before this batch are stored: sent again, they count once", file=sys.stderr
                )
            raise
        print(", ".join(f"{count:,} {name}" for name, count in answer.items()))
        if not look:
            return
        refused = None
        try:
            client.look(investigation)
        except MonitorError as error:  # too few rows since the last look, which may have been due by itself
            refused = error
        newest = client.wait(investigation)
        if not newest:
            raise ValueError(f"no look yet: {refused}")
        if newest == earlier:
            print(f"No further look: {refused}", file=sys.stderr)
        for number in range(min(earlier + 1, newest), newest + 1):
            found = client.report(investigation, number)
            if found["state"] != "done":
                raise ValueError(f"look {number} gave no report: {found['reason']}")
            print(client.report(investigation, number, as_text=True))


# The site


@fairlab.command()
@click.option("--out", default="site", metavar="FOLDER", help="a new folder or an earlier site (default: site)")
@click.option("--jobs", type=AT_LEAST_ONE, default=1, metavar="N", help="processes (default: 1)")
def site(out, jobs):
    """Build the site: scorecard, papers, notebooks, gallery, guide, reference."""
    project().check()
    if missing := [name for name in NEEDED_BY_SITE if find_spec(name) is None]:
        raise MissingExtraError(f"the site needs {', '.join(missing)}: pip install 'fairlab[site,labs]'")
    from fairlab.site.building import build, card_file

    print(f"open {build(out, n_jobs=jobs) / 'index.html'}; its scorecard is {project().short(card_file())}")


# Labs


@fairlab.group()
def labs():
    """List, build or check the labs of a course."""


@labs.command("list")
def list_labs():
    """List the labs: minutes, points, data."""
    from fairlab.labs.course import cards
    from fairlab.labs.masters import exercises, read

    project().check()
    for lab in cards():
        points = sum(exercise.points for exercise in exercises(read(lab.notebook)))
        print(f"{lab.number}. {lab.title} ({lab.key}; {lab.minutes} minutes, {points:g} points)\n   {lab.idea}")


@labs.command("build")
@click.argument("names", nargs=-1, metavar="[LAB]...", help="number or name (default: all)")
@click.option("--out", required=True, metavar="DIR", help="a new folder")
@click.option(
    "--seed",
    type=SEED,
    default=0,
    metavar="N",
    help="course number: 0 (default) gives the data that the guides quote, any other number draws new data",
)
def build_labs(names, out, seed):
    """Build a course: notebooks for students, a zip file per lab, files for nbgrader, and solutions."""
    from fairlab.auditing.wording import count
    from fairlab.labs.course import build, card, cards

    project().check()
    labs = list(dict.fromkeys(map(card, names))) or list(cards())
    folder = build(out, course=seed, labs=labs)
    print(f"{count(len(labs), 'lab')} in {folder}: students, zips, slides, course (nbgrader), solved")


@labs.command("check")
@click.argument("notebook", metavar="NOTEBOOK", help="notebook of a lab")
def check_lab(notebook):
    """Run the visible tests on a notebook; the exit status is 1 if one fails, 2 if there is no such notebook."""
    from fairlab.labs.checking import as_text, check

    if not Path(notebook).exists():
        raise click.UsageError(f"there is no file {notebook}")
    lines = check(notebook)
    print(as_text(lines))
    return int(any(line.state in ("not yet", "error") for line in lines))

"""The command line: ``fairlab audit | list | run | data | scorecard | cache | notebooks | figures | labs | site``."""

import argparse
import logging
import sys

from fairlab.checks import MissingExtraError, suggestion
from fairlab.data.errors import DataError
from fairlab.paths import find_root
from fairlab.suite.catalogue import PROFILES, experiment_names, inputs
from fairlab.suite.labs.command import add_verbs
from fairlab.suite.listing import add_list
from fairlab.suite.redrawing import add_figures
from fairlab.suite.running import add_run, short
from fairlab.suite.site.command import add_site

WRONG_CALL, SIGNIFICANT, NOT_ASSESSED = 2, 3, 4  # exit statuses


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status: 0 for success, 1 for a failure, 2 for a wrong call."""
    options = _parser().parse_args(arguments)
    try:
        if options.of_project:
            find_root()  # raises where the library is installed without its project
        return options.command(options) or 0
    except KeyboardInterrupt as stop:
        logging.getLogger("asyncio").disabled = True  # it would log each unfinished task
        print(f"fairlab: {str(stop) or 'interrupted; finished trials are cached'}", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader closed the pipe
        sys.stdout = None
        return 1
    except (KeyError, TypeError, ValueError, OSError, RuntimeError, DataError, MissingExtraError) as error:
        # A KeyError's text is its argument in quotes; the message is the argument.
        message = error.args[0] if isinstance(error, KeyError) and error.args else error
        print(f"fairlab: {message}", file=sys.stderr)
        return 2 if isinstance(error, KeyError | TypeError) else 1


def _parser():
    parser = argparse.ArgumentParser(prog="fairlab", description="Reproduce papers on fairness testing.")
    parser.set_defaults(of_project=True)  # whether a command needs experiments, notebooks or the data registry
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name, function, help):
        sub = commands.add_parser(name, help=help, description=help)
        sub.set_defaults(command=function)
        return sub

    add_list(command)

    add_run(command)

    data = commands.add_parser("data", help="show, fetch, verify or describe the data sets")
    verbs = data.add_subparsers(required=True, metavar="VERB")
    for verb, help in (
        ("status", "show which files are available, and the sources of the others"),
        ("fetch", "download and prepare data sets (default: all that experiments use)"),
        ("verify", "check every available file against its hash"),
        ("describe", "describe data sets: content, provenance, accuracy of the surrogate"),
    ):
        sub = verbs.add_parser(verb, help=help, description=help)
        sub.set_defaults(command=_data, verb=verb)
        if verb != "status":
            several = "+" if verb == "describe" else "*"
            sub.add_argument("names", nargs=several, metavar="NAME", help="variants, files or folders of the registry")
        if verb == "fetch":
            sub.add_argument("--keep-going", action="store_true", help="exit with status 0 if something is missing")

    sub = command("scorecard", _scorecard, "compare published numbers with our results")
    sub.add_argument(
        "rows", nargs="*", metavar="PAPER[:ARTEFACT]", help="show these rows instead of the summary, e.g. adf:table-4"
    )
    sub.add_argument("--json", action="store_true", help="print one object per published value or claim")
    sub.add_argument("--profile", choices=PROFILES, help="only runs of this profile (default: the best available)")
    sub.add_argument(
        "--write", action="store_true", help="also update the committed scorecard and the figure in the README"
    )

    sub = command("cache", _cache, "cached trials: show, verify, or remove corrupted and stale ones")
    sub.add_argument(
        "verb",
        choices=("status", "verify", "prune"),
        help="status: list cached trials by function; verify: check all checksums; prune: remove corrupted trials, and "
        "stale ones of other code or library versions",
    )

    _add_audit(command)

    sub = command("notebooks", _notebooks, "check that notebooks can be committed")
    sub.add_argument("--clear", action="store_true", help="remove outputs and execution counts")

    add_figures(command)

    add_site(command)

    labs = commands.add_parser("labs", help="list, build, zip or check the labs of a course")
    add_verbs(labs.add_subparsers(required=True, metavar="VERB"))
    return parser


def _add_audit(command):
    sub = command("audit", _audit, "audit your model with all methods")
    sub.epilog = (
        "Exit status: 0 if at least one test was made and nothing is significant, 3 if a finding is significant, 4 if "
        "nothing could be tested, 2 for an invalid call, 1 for an error of a method or the model."
    )
    sub.set_defaults(of_project=False)
    sub.add_argument(
        "model", metavar="MODEL", help="module:name from the current folder, a .keras or .h5 file, or see below"
    )
    sub.add_argument("table", metavar="TABLE", help="one row per person: .csv, .tsv or .parquet")
    sub.add_argument(
        "--sensitive-features", type=_names, required=True, metavar="A,B", help="columns with the sensitive features"
    )
    sub.add_argument(
        "--features", type=_names, metavar="A,B", help="inputs of the model (default: all columns except --y-true)"
    )
    sub.add_argument("--y-true", metavar="COLUMN", help="column with the true labels; not an input of the model")
    sub.add_argument("--pos-label", metavar="LABEL", help="the favourable label")
    sub.add_argument("--decision-threshold", type=float, metavar="SCORE", help="scores of at least this are favourable")
    sub.add_argument("--program", action="store_true", help="MODEL is a command line that prints 1 (favourable) or 0")
    sub.add_argument(
        "--trust-pickle",
        action="store_true",
        help="MODEL may be a .pkl or .joblib, or a Keras file for Keras before 3.12; opening it runs any code that "
        "it contains, with your permissions",
    )
    sub.add_argument(
        "--proxies",
        action="store_true",
        help="also vary the predictors of a sensitive feature that is not an input of the model",
    )
    sub.add_argument("--methods", type=_names, metavar="A,B", help="run only these methods (default: all that apply)")
    sub.add_argument(
        "--budget",
        type=int,
        default=200_000,
        metavar="N",
        help="most model queries, in rows, plus up to 1,000 for the determinism check; if the table has more than half "
        "as many rows, a random sample is audited (default: %(default)s)",
    )
    sub.add_argument("--confidence-level", type=float, default=0.95, metavar="LEVEL", help="default: %(default)s")
    sub.add_argument("--seed", type=int, default=0, help="random seed (default: %(default)s)")
    sub.add_argument("--html", metavar="FILE", help="write the report as a page")
    sub.add_argument("--json", metavar="FILE", help="write the report as JSON")
    sub.add_argument(
        "--rows",
        choices=("none", "binned", "all"),
        default="binned",
        help="rows about people in the files: none, binned (the default), or all without binning",
    )


def _audit(options) -> int:
    """Return 0 if something was tested and nothing is significant, 3 if something is, 4 if nothing could be tested."""
    from fairlab.auditing import audit
    from fairlab.auditing.wording import reasons

    try:
        case = _case(options)
        report = audit(
            case,
            methods=options.methods,
            proxies=options.proxies,
            budget=options.budget,
            confidence_level=options.confidence_level,
            random_state=options.seed,
        )
    except (ValueError, TypeError, OSError) as error:
        if getattr(error, "__notes__", None):  # raised by a method, or by the model during the audit
            raise
        print(f"fairlab: {error}", file=sys.stderr)
        return WRONG_CALL
    print(report.summary)
    for sentence in [*reasons(report), *report.warnings]:
        print(sentence)
    if len(report.findings):
        frame = report.to_frame().drop(columns=["raw_p_value", "n"])
        print(frame.to_string(index=False, float_format="{:.3g}".format))
    for method, reason in report.skipped:
        print(f"not assessed: {method}: {reason}")
    if options.html:
        report.to_html(options.html, rows=options.rows)
    if options.json:
        report.to_json(options.json, rows=options.rows)
    return SIGNIFICANT if report.significant else 0 if report.n_tests else NOT_ASSESSED


def _case(options):
    from fairlab.auditing.loading import command_model, label, load_model, read_table
    from fairlab.cases import Case

    table, y_true = read_table(options.table), options.y_true
    truth = table.get(y_true)
    if y_true is not None and truth is None:
        raise ValueError(f"--y-true: the table has no column {y_true!r}{suggestion(y_true, table)}")
    pos_label = None if options.pos_label is None else label(options.pos_label, truth)
    if not options.program:
        model = load_model(options.model, trust_pickle=options.trust_pickle)
    else:
        model = command_model(options.model)  # returns True or False, whatever the labels are
        if truth is not None:
            table, y_true = table.drop(columns=y_true), _is_favourable(truth, pos_label)
        pos_label = True
    return Case(
        model,
        table,
        sensitive_features=options.sensitive_features,
        features=options.features,
        y_true=y_true,
        pos_label=pos_label,
        decision_threshold=options.decision_threshold,
        max_rows=max(options.budget // 2, 2),
        random_state=options.seed,
    )


def _is_favourable(truth, pos_label):
    if pos_label is None or not (truth == pos_label).any():
        known = ", ".join(map(str, truth.unique()[:10]))
        raise ValueError(f"--pos-label: expected the favourable label among those of --y-true ({known})")
    return (truth == pos_label).to_numpy()


def _names(text) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _data(options):
    from fairlab import data

    if options.verb == "fetch":
        names = options.names or dict.fromkeys([*data.available(), *inputs(experiment_names())])
        frame = data.fetch(names, keep_going=options.keep_going, report=print)
        return int((frame["state"] == "error").any())
    if options.verb == "describe":
        print("\n\n".join(map(data.describe, options.names)))
        return 0
    frame = data.status() if options.verb == "status" else data.verify(options.names or None)
    print(frame.drop(columns=["terms", "detail"], errors="ignore").to_string(na_rep=""))
    for name, detail in frame.loc[frame["state"] == "corrupt", "detail"].items():
        print(f"{name}: {detail}", file=sys.stderr)
    return int((frame["state"] == "corrupt").any())


def _scorecard(options):
    from fairlab.suite import scorecard
    from fairlab.suite.comparison import Comparison

    card = scorecard.scorecard(options.profile)
    unreadable = scorecard.unreadable(options.profile)
    for sentence in unreadable:
        print(f"fairlab: {sentence}", file=sys.stderr)
    if options.rows:
        card = Comparison(scorecard.chosen(card, options.rows))
    if options.json:
        print(card.to_json(), end="")
    elif options.rows:
        print("\n".join(row.to_text() for row in card.rows))
    else:
        written = scorecard.write(card, options.profile, publish=options.write)
        if options.write:
            from fairlab.suite.site.bars import write_bars
            from fairlab.suite.site.papers import names

            written.append(write_bars(card, names()))
        print(scorecard.ending(card))
        print("scorecard: " + ", ".join(map(short, written)))
    return int(bool(unreadable))


def _cache(options):
    from fairlab.suite import cache

    if options.verb == "status":
        frame = cache.status()
        print(frame.to_string(index=False, float_format="{:.1f}".format) if len(frame) else "no cached trials")
        return 0
    frame = cache.prune() if options.verb == "prune" else cache.corrupted()
    for row in frame.itertuples():
        print(f"{'removed, ' * (options.verb == 'prune')}{row.state}: {short(row.file)}")
    if options.verb == "prune":
        print(f"{len(frame)} files removed, {frame['mb'].sum():.1f} MB")
        return 0
    print(f"{len(frame)} corrupted" + (": they will be computed again when needed" if len(frame) else ""))
    return int(len(frame) > 0)


def _notebooks(options):
    from fairlab.paths import ROOT
    from fairlab.suite.notebook import check_committed, clear

    bad = 0
    for notebook in sorted((ROOT / "notebooks").rglob("*.ipynb")):
        if ".ipynb_checkpoints" in notebook.parts:
            continue
        if options.clear:
            clear(notebook)
        for problem in check_committed(notebook):
            bad += 1
            print(f"{short(notebook)}: {problem}; fix with `make format`", file=sys.stderr)
    return int(bool(bad))

"""What a monitor promises, on generated streams: docs/truth has the counts, docs/_static the figure of delays.

``PYTHONPATH=tests python tests/monitoring/test_promise.py --write [jobs]`` makes them anew in about half an hour of
computing; the counts are in ``monitoring.csv``, the delays in ``monitoring_delays.csv``.
"""

import sys
import tempfile
from functools import cache

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa
from joblib import Parallel, delayed
from monitoring.decision_streams import (
    ALPHA,
    BATCH,
    CATEGORIES,
    DAYS,
    EVERY,
    HORIZON,
    KINDS,
    LIMIT,
    RULES,
    SCENES,
    SIZES,
    WATCHERS,
    Life,
    alarms,
    alarms_of_rules,
    at_most,
    counts_of,
    draw,
    fair_day,
    fair_life,
    is_excluded,
    registered,
    rows_of,
    wealth_first,
)
from scipy.stats import binom
from truth import FOLDER, check, tabulate

from fairlab.data.project import project
from fairlab.fairtest.sequential import evidence
from fairlab.monitoring import migrations
from fairlab.monitoring.scheduler import take_looks
from fairlab.monitoring.store import Store, investigations
from fairlab.plotting import LINES, legend_above, log_ticks, panels
from fairlab.statistics import exact_interval
from fairlab.suite.drawing import save

LENGTH, AT_ONCE, N_STREAMS, N_LOOKS, N_DELAYS = 100_000, 20, 1_000, 50, 40
N_DAYS, N_FIXED = 300, 100  # streams that change within each period, and of these where the hour is held fixed, too
N_ROWS, SEEN = 3_000, 2_000  # of a stream whose sender sees some ahead
STATED = 1 - ALPHA
PAGE = project().docs / "guide" / "monitor_statistics.csv"
FIGURE = project().docs / "_static" / "monitoring_delays"


def of_life(number, n_looks=N_LOOKS):
    """Return what holds of a fair investigation, one row a statement."""
    life = fair_life(number, n_looks)
    text = f"{n_looks} looks of a fair stream, levels {{}}: no report"
    return [
        (text.format(rule), not life.reports(spending).any(), stated)
        for rule, spending, stated in [
            ("by the series", "series", STATED),
            ("by the adaptive rule", "adaptive", STATED),
            ("5% each", "none", np.nan),
        ]
    ]


def of_days(number, n_looks=12):
    """Return what holds of fair investigations that change within each period, one row a statement."""
    rows = []
    for day in DAYS:
        text = f"{n_looks} looks of a fair stream, {day}: no report"
        rows.append((text, not fair_day(number, day, None, n_looks).reports("series").any(), np.nan))
        if number < N_FIXED:
            life = fair_day(number, day, "hour", n_looks)
            rows.append((f"{text} with the hour held fixed", not life.reports("series").any(), STATED))
    return rows


def of_streams(batch, n_streams=AT_ONCE, length=LENGTH):
    """Return what holds of some fair streams and of as many others, after each decision, one row a statement."""
    kind, rows, often = KINDS[batch % len(KINDS)], [], f"after each of {length:,} decisions"
    for is_fair in (True, False):
        group, hits, rates = draw(kind, batch, length, n_streams, is_fair=is_fair)
        for k in range(n_streams):
            totals, found, sums = counts_of(group[:, k], hits[:, k], rates[:, k])
            means = sums / np.maximum(totals, 1)
            held = is_excluded(found, totals, means) is None
            rows.append((f"bounds of the difference hold the true one {often}, {kind}", held, STATED))
            unclear = at_most(found, totals, means)[:, 1] >= LIMIT
            log, _ = evidence(found[unclear, 1], totals[unclear, 1], means[unclear, 1])
            rows.append((f"bounds of a rate hold the true one {often}, {kind}", (log < LIMIT).all(), STATED))
            if not is_fair:
                continue
            pooled = np.broadcast_to((found.sum(axis=1) / totals.sum(axis=1))[:, None], found.shape)
            held = is_excluded(found, totals, pooled, 0.0) is None
            rows.append((f"a fair stream never raises an alarm {often}, {kind}", held, STATED))
            for rule, is_alarm in zip(RULES, alarms_of_rules(group[:, k], hits[:, k]).T, strict=True):
                text = f"{rule} in batches of {BATCH}"
                rows.append((f"{text}: no alarm in a fair stream of {length:,}", not is_alarm.any(), np.nan))
                rows += [(f"{text}: no alarm in a fair batch", not one, np.nan) for one in is_alarm]
    return rows


@cache
def store_of_process():
    """Return a new monitor's database."""
    return migrations.migrated(Store(f"sqlite:///{tempfile.mkdtemp()}/monitor.db"))


def worst_end(rows, start):
    """Return where a sender ends a batch who sees some rows ahead: where the groups differ most since the last look."""
    seen = rows[start : start + SEEN]
    own = np.stack([seen["group"] == 0, seen["group"] == 1], axis=-1)
    totals, hits = own.cumsum(axis=0), (own & (seen["decision"] == 1)[:, None]).cumsum(axis=0)
    pooled = hits.sum(axis=-1) / totals.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(pooled * (1 - pooled) * (1 / totals).sum(axis=-1))
        z = np.abs(np.subtract(*(hits / totals).T)) / error
    return start + EVERY + int(np.nan_to_num(z[EVERY - 1 :]).argmax())


def of_sender(number, n_rows=N_ROWS):
    """Return what holds of a fair stream whose sender chooses where batches end, one row a statement.

    Of the monitor, which looks where its own rule says, and of looks at all rows that have arrived.
    """
    rng = np.random.default_rng([number, 100])
    registration, rate = (
        registered("Difference").model_copy(update={"look_every": {"rows": EVERY}}),
        rng.uniform(0.2, 0.8),
    )
    rows = rows_of(registration, rng, n_rows, lambda g, r, c: np.full(len(g), rate))
    table = pd.DataFrame({name: np.array(CATEGORIES[name])[rows[name]] for name in registration.columns})
    table = table.assign(event_id=[f"e{k}" for k in range(n_rows)])
    store, life, start = store_of_process(), Life(registration, [number, 101]), 0
    investigation = store.register(registration)
    with store.write() as connection:  # the same split in every run
        connection.execute(
            sa.update(investigations).where(investigations.c.id == investigation).values(key=rng.bytes(32))
        )
    while start + EVERY <= n_rows:
        end = worst_end(rows, start)
        store.add("decisions", investigation, table[start:end].to_dict("records"))
        while store.due_looks():
            take_looks(store)
        life.look(rows[start:end])
        start = end
    found = store.look_list(investigation)
    assert [one.until for one in found] == list(range(EVERY, start + 1, EVERY))
    store.delete_investigation(investigation)
    text = f"the sender of a fair stream of {n_rows:,} sees {SEEN:,} ahead and ends batches: no report by looks {{}}"
    return [
        (text.format(f"every {EVERY} decisions"), not any(one.summary["findings"] for one in found), STATED),
        (text.format("at all that has arrived"), not life.reports("series").any(), np.nan),
    ]


def counted(answers):
    """Return the table of counts, with 95% intervals of the shares."""
    table = tabulate([row for several in answers for row in several]).sort_values("statement", ignore_index=True)
    check(table)
    ends = exact_interval(table["held"].to_numpy(), table["models"].to_numpy(), alpha=0.05)
    low, high = (np.round(end, 4) for end in ends)
    return table.assign(low=low, high=high).rename(columns={"models": "trials"})


def for_page(table):
    """Return the table as the guide shows it."""
    shares = [f"{100 * one.share:.4g} ({100 * one.low:.4g} to {100 * one.high:.4g})" for one in table.itertuples()]
    columns = {"of": table["trials"].map("{:,}".format), "held": table["held"].map("{:,}".format)}
    columns |= {"percent (95% interval)": shares, "stated": table["stated"].map("at least {:.0%}".format)}
    return pd.DataFrame({"statement": table["statement"]} | columns).replace("at least nan%", "nothing")


def delays(answers):
    """Return the delays until a planted change is noticed: quartiles of the streams without an earlier alarm."""
    rows = []
    for (scene, size), several in answers.items():
        for watcher in WATCHERS:
            waited = np.array([found[watcher] for found in several]) - SCENES[scene][0]
            waited = waited[waited > 0]
            row = {"change": scene, "size": size, "watcher": watcher, "streams": len(waited)}
            row["noticed"] = int(np.isfinite(waited).sum())
            ends = np.quantile(waited, [0.25, 0.5, 0.75], method="higher")
            rows.append(row | dict(zip(("first quartile", "median", "third quartile"), ends, strict=True)))
    return pd.DataFrame(rows)


def drawn(frame):
    """Draw the delays by size of the change, a panel for each kind of change."""
    figure, axes = panels(1, len(SCENES), width=2.2, height=2.9, sharey=True)
    for axis, (scene, part) in zip(axes, frame.groupby("change", sort=False), strict=True):
        for place, (style, watcher) in enumerate(zip(LINES, WATCHERS, strict=True)):
            one = part[part["watcher"] == watcher].replace(np.inf, np.nan)
            x = one["size"] * 1.03 ** (place - 1.5)
            axis.plot(x, one["median"], **style, markersize=4, label=watcher)
            ends = one["first quartile"], one["third quartile"].fillna(2 * HORIZON)
            axis.vlines(x, *ends, color=style["color"], linewidth=1)
        axis.set(xscale="log", yscale="log", ylim=(40, HORIZON), title=scene.replace(", in", ",\nin"))
        axis.set_xticks(SIZES, ["0.05", "0.1", "", "0.2", "", "0.4"])
        axis.minorticks_off()
        axis.title.set_size(9)
        axis.set_xlabel("difference of the rates")
    log_ticks(axes[0].yaxis)
    axes[0].set_ylabel("decisions until the alarm")
    legend_above(figure, axes[0], n_columns=4)
    return figure


def test_committed_counts_are_as_stated():
    table = pd.read_csv(FOLDER / "monitoring.csv")
    check(table.rename(columns={"trials": "models"}))
    assert PAGE.read_text() == for_page(table).to_csv(index=False)
    trials = table.set_index("statement")["trials"]
    assert trials.filter(like="a fair stream never").sum() == N_STREAMS
    assert (trials.filter(like=f"{N_LOOKS} looks of a fair stream") == N_STREAMS).all()
    assert (trials.filter(like="the sender of a fair stream") == N_STREAMS).tolist() == [True] * 2
    assert (trials.filter(regex="^12 looks.* no report$") == N_DAYS).tolist() == [True] * len(DAYS)
    assert (trials.filter(like="held fixed") == N_FIXED).tolist() == [True] * len(DAYS)


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_some_streams_come_out_as_stated(kind):
    counted([of_streams(kind, n_streams=8, length=3_000)])


def test_a_fair_life_reports_as_seldom_as_stated_and_a_biased_one_does():
    counted([of_life(number, 4) for number in range(12)])
    counted([of_sender(number, 1_500) for number in range(3)])
    found = alarms("from the first decision", 0.4, 0)
    assert max(found.values()) <= 2 * EVERY


def test_the_quick_check_of_a_stream_is_that_of_the_bounds():
    for number in range(3):
        group, hits, rates = draw(KINDS[number], number, 600, 4, is_fair=False)
        for k in range(4):
            totals, found, _ = counts_of(group[:, k], hits[:, k], rates[:, k])
            assert (evidence(found, totals, 0.3)[0] <= at_most(found, totals, np.full(found.shape, 0.3)) + 1e-9).all()


def test_the_betting_test_is_one():
    """Of fair pairs it rejects seldom; by hand for three pairs."""
    rng = np.random.default_rng(94)
    first = wealth_first(*(rng.random((2, 3_000, 400)) < 0.3))
    assert binom.sf((first >= 0).sum() - 1, 400, ALPHA) > 0.005
    assert wealth_first(np.ones((30, 1)), np.zeros((30, 1)))[0] == by_hand(30)


def by_hand(n):
    """Return the pair at which wealth exceeds 20 where each pair pays 1."""
    bet, curvature, wealth = 0.0, 1.0, 1.0
    for k in range(n):
        wealth *= 1 + bet
        if wealth > 1 / ALPHA:
            return k
        slope = 1 / (1 + bet)
        curvature += slope**2
        bet = min(bet + 2 / (2 - np.log(3)) * slope / curvature, 0.5)
    return -1


@pytest.mark.slow
def test_a_part_of_the_streams_comes_out_as_stated():
    counted(
        [
            *map(of_life, range(40)),
            *map(of_days, range(10)),
            *map(of_sender, range(40)),
            *(of_streams(batch, n_streams=10) for batch in range(6)),
        ]
    )


@pytest.mark.slow
def test_delays_come_out_again():
    scene, size = "after 5,000 fair decisions", 0.4
    again = delays({(scene, size): [alarms(scene, size, number) for number in range(N_DELAYS)]})
    committed = pd.read_csv(FOLDER / "monitoring_delays.csv")
    committed = committed[(committed["change"] == scene) & (committed["size"] == size)].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, committed, check_dtype=False)


def main(n_jobs):
    """Write the counts, the delays and their figure."""
    run = Parallel(n_jobs, verbose=1)
    answers = run(delayed(of_life)(number) for number in range(N_STREAMS))
    answers += run(delayed(of_streams)(batch) for batch in range(N_STREAMS // AT_ONCE))
    answers += run(delayed(of_sender)(number) for number in range(N_STREAMS))
    answers += run(delayed(of_days)(number) for number in range(N_DAYS))
    table = counted(answers)
    table.to_csv(FOLDER / "monitoring.csv", index=False)
    for_page(table).to_csv(PAGE, index=False)
    cases = [(scene, size) for scene in SCENES for size in SIZES]
    noticed = run(delayed(alarms)(*case, number) for case in cases for number in range(N_DELAYS))
    frame = delays({case: noticed[k * N_DELAYS :][:N_DELAYS] for k, case in enumerate(cases)})
    frame.to_csv(FOLDER / "monitoring_delays.csv", index=False)
    save(drawn(frame), FIGURE, formats=["svg"], title="Decisions until a planted change is noticed, by its size")


if __name__ == "__main__" and "--write" in sys.argv:
    main(int(sys.argv[-1]) if sys.argv[-1].isdigit() else 1)

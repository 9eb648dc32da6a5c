import pytest

from fairlab.suite.schedule import TRUSTED_MINUTES, Schedule


def order(schedule):
    """Return the order in which experiments begin if each takes as long as planned."""
    began, clock, ends = [], 0.0, {}
    while schedule.waiting or schedule.running:
        spent = {name: clock - ends[name] + schedule.minutes[name] for name in schedule.running}
        while (name := schedule.next(spent=spent)) is not None:
            schedule.begin(name)
            began.append(name)
            ends[name] = clock + schedule.minutes[name]
        name = min(ends, key=ends.get)
        clock = ends.pop(name)
        schedule.end(name, schedule.minutes[name])
    return began, clock


def test_the_shortest_come_first():
    assert order(Schedule({"c": 3, "a": 1, "b": 2}, {}, 1))[0] == ["a", "b", "c"]


def test_the_longest_does_not_run_alone_at_the_end():
    minutes = {"long": 10} | {f"s{k}": 1 for k in range(10)}
    began, whole = order(Schedule(minutes, {}, 2))
    assert began[0] == "long" or whole == pytest.approx(10)
    minutes = {"long": 10} | {f"s{k:02}": 1 for k in range(30)}
    began, whole = order(Schedule(minutes, {}, 2))
    assert began[:4] == ["s00", "s01", "s02", "s03"]
    assert whole <= 21


def test_a_row_of_long_ones_begins_in_time_between_others_that_are_long():
    minutes = {"row": 4.2, "end of the row": 7.0} | {f"s{k}": 0.1 * k for k in range(1, 20)}
    minutes |= {f"long-{k}": 3.3 for k in range(4)}
    began, whole = order(Schedule(minutes, {"end of the row": ["row"]}, 2))
    assert whole < 1.03 * sum(minutes.values()) / 2
    assert began[:5] == [f"s{k}" for k in range(1, 6)]
    assert 0 < began.index("row") < began.index("long-0")


def test_running_experiments_count_by_remaining_minutes():
    minutes = {"a": 4.0, "long": 5.0, **{f"s{k}": 1.0 for k in range(6)}}
    schedule = Schedule(minutes, {}, 2)
    schedule.begin("a")
    assert schedule.next() == "s0", "all that is left ends in time"
    assert schedule.next(spent={"a": 3.9}) == "s0"
    for k in range(2):
        schedule.begin(f"s{k}")
        schedule.end(f"s{k}", 1.0)
    assert schedule.next(spent={"a": 0.0}) == "s2"
    assert schedule.next(spent={"a": 3.9}) == "long", "else it runs alone at the end"


def test_experiment_runs_after_those_whose_trials_it_reuses():
    schedule = Schedule({"a": 1, "b": 2, "c": 3}, {"a": ["c"]}, 2)
    assert order(schedule)[0].index("c") < ["b", "c", "a"].index("a")
    schedule = Schedule({"a": 1, "c": 3}, {"a": ["c"]}, 2)
    schedule.begin(schedule.next())
    assert schedule.running == {"c"}
    assert schedule.next() is None


def test_choice_can_be_restricted():
    schedule = Schedule({"a": 1, "b": 2}, {}, 1)
    assert (schedule.next(), schedule.next({"b"}), schedule.next(set())) == ("a", "b", None)


def test_what_waits_for_a_failure_is_dropped():
    schedule = Schedule({"a": 1, "b": 2, "c": 3, "d": 1}, {"b": ["a"], "c": ["b"]}, 1)
    schedule.begin("a")
    schedule.end("a", 1)
    assert schedule.drop("a") == ["b", "c"]
    assert schedule.waiting == {"d"}


def test_the_estimate_learns_from_what_was_measured():
    schedule = Schedule({f"e{k}": 2.0 for k in range(10)}, {}, 2)
    assert schedule.minutes_left({}, 0) == pytest.approx(10)
    for k in range(3):  # each took three times the planned minutes, on two cores
        schedule.begin(f"e{k}")
        schedule.end(f"e{k}", 6.0)
    factor = (TRUSTED_MINUTES + 18) / (TRUSTED_MINUTES + 6)
    assert schedule.minutes_left({}, 9) == pytest.approx(7 * 2 * factor / 2)
    assert schedule.minutes_left({}, 9) == pytest.approx(21, rel=0.25)
    assert schedule.minutes_left({}, 18) == pytest.approx(42, rel=0.25), "half of the machine is others'"
    schedule.begin("e3")
    assert schedule.minutes_left({"e3": 3.0}, 10.5) < schedule.minutes_left({}, 9)


def test_the_estimate_knows_that_a_row_cannot_be_shared():
    schedule = Schedule({"a": 6.0, "b": 6.0, "c": 1.0}, {"b": ["a"]}, 2)
    assert schedule.minutes_left({}, 0) == pytest.approx(12)

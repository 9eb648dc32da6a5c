"""Generated streams of decisions, and the alarms of a monitor and of other rules, after each decision and look."""

import numpy as np
import pandas as pd

from fairlab.fairtest import adaptive_level, difference_sequence, look_level
from fairlab.fairtest.sequential import evidence
from fairlab.monitoring import looks
from fairlab.monitoring.registration import Registration

ALPHA = 0.05
LIMIT = -np.log(ALPHA)
KINDS = ("of constant rates", "of changing rates", "of rates that go by the past")
RULES = ("a difference above 0.1", "an impact ratio below 0.8", "a test at 5%")  # on batches
BATCH, PART = 100, 500


def rates_of(kind, rng, length, n_streams):
    """Return the rates of whole streams over time, and how much they depend on past decisions, 0 if they do not."""
    base = rng.uniform(0.1, 0.9, n_streams)
    rates = np.broadcast_to(base, (length, n_streams)).copy()
    if kind == KINDS[1]:  # a wave and a jump
        periods, jump = rng.uniform(0.5, 20, n_streams), rng.integers(length, size=n_streams)
        wave = np.sin(2 * np.pi * periods * np.linspace(0, 1, length)[:, None])
        rates += np.minimum(base, 1 - base) * (0.4 * wave + 0.5 * (np.arange(length)[:, None] > jump))
    return rates, (rng.uniform(-0.9, 0.9, n_streams) if kind == KINDS[2] else np.zeros(n_streams))


def draw(kind, number, length, n_streams, *, is_fair):
    """Return groups, decisions and their rates given the past, arrays of shape (length, n_streams).

    In a fair stream, both groups have the same rate at each moment. If rates depend on the past, the last decision
    raises or lowers the next rate, whatever the groups.
    """
    rng = np.random.default_rng([KINDS.index(kind), number, is_fair, 95])
    group = rng.random((length, n_streams)) < rng.uniform(0.1, 0.9, n_streams)
    rates, memory = rates_of(kind, rng, length, n_streams)
    if not is_fair:
        rates = np.where(group, np.clip(rates + rng.uniform(-0.3, 0.3, n_streams), 0.02, 0.98), rates)
    drawn = rng.random((length, n_streams))
    if not memory.any():
        return group, drawn < rates, rates
    hits, room = np.zeros((length, n_streams), dtype=bool), np.minimum(rates, 1 - rates)
    for k in range(length):
        rates[k] += memory * room[k] * np.where(hits[k - 1], 1, -1)
        hits[k] = drawn[k] < rates[k]
    return group, hits, rates


def counts_of(group, hits, rates):
    """Return totals, hits and sums of rates of both groups after each decision, arrays of shape (length, 2)."""
    own = np.stack([~group, group], axis=-1)
    return [np.cumsum(own * each[:, None], axis=0) for each in (np.ones(len(own)), hits, rates)]


def at_most(hits, totals, rate):
    """Return an upper bound of the evidence against a rate: that of the best of all bets."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = [
            np.nan_to_num(part * np.log(part / (totals * of))) for part, of in ((hits, rate), (totals - hits, 1 - rate))
        ]
    return shares[0] + shares[1]


def is_excluded(hits, totals, rates, difference=None):
    """Return the first moment at which a difference is excluded, or None; by default, the true difference of the rates.

    A difference is not excluded while there is too little evidence against a pair of rates that has this difference.
    Bounds are computed only at other moments.
    """
    unclear = np.flatnonzero(at_most(hits, totals, rates).sum(axis=-1) >= LIMIT)
    unclear = unclear[evidence(hits[unclear], totals[unclear], rates[unclear])[0].sum(axis=-1) >= LIMIT]
    for start in range(0, len(unclear), PART):
        some = unclear[start : start + PART]
        low, high = difference_sequence(hits[some], totals[some], confidence_level=1 - ALPHA)
        true = rates[some, 0] - rates[some, 1] if difference is None else difference
        if (outside := (true < low) | (true > high)).any():
            return int(some[outside.argmax()])
    return None


def alarms_of_rules(group, hits):
    """Return whether each rule raises an alarm in each batch, an array of shape (n_batches, 3)."""
    own = np.stack([~group, group], axis=-1).reshape(-1, BATCH, 2)
    totals, found = own.sum(axis=1), (own & hits.reshape(-1, BATCH, 1)).sum(axis=1)
    pooled = found.sum(axis=-1) / BATCH
    with np.errstate(divide="ignore", invalid="ignore"):  # a comparison with nan is no alarm
        shares = found / totals
        difference = np.abs(shares[:, 0] - shares[:, 1])
        error = np.sqrt(pooled * (1 - pooled) * (1 / totals).sum(axis=-1))
        return np.stack(
            [difference > 0.1, shares.min(axis=-1) / shares.max(axis=-1) < 0.8, difference / error > 1.96], axis=-1
        )


def wealth_first(x, y):
    """Return the pair at which the betting test of two means rejects, for each stream, or -1.

    Chugg, Cortes-Gomez, Wilder, Ramdas: Auditing fairness by betting (2023). The bet on the next pair of decisions, one
    of each group, is set by online Newton steps.

    Parameters
    ----------
    x, y : arrays of shape (n_pairs, n_streams)
    """
    bet, curvature, wealth = (np.full(x.shape[1], start) for start in (0.0, 1.0, 0.0))
    first = np.full(x.shape[1], -1)
    for k, pay in enumerate(np.asarray(x, dtype=float) - y):
        factor = 1 + bet * pay
        wealth += np.log(factor)
        first[(first < 0) & (wealth > LIMIT)] = k
        slope = -pay / factor
        curvature += slope**2
        bet = np.clip(bet - 2 / (2 - np.log(3)) * slope / curvature, -0.5, 0.5)
    return first


CATEGORIES = {
    "group": ["a", "b", "c"],
    "region": list("news"),
    "channel": ["web", "shop"],
    "hour": [f"{hour} to {hour + 1}" for hour in range(8, 18)],
    "decision": ["no", "yes"],
}
DTYPE = [(name, "i2") for name in CATEGORIES]


def registered(metric, n_groups=2, explanatory=None):
    """Return a registration of decisions by group; two columns define contexts, one may be held fixed."""
    names = [name for name in CATEGORIES if name != "hour" or explanatory]
    categories = {name: CATEGORIES[name] for name in names} | {"group": CATEGORIES["group"][:n_groups]}
    return Registration(
        name="decisions",
        columns={name: {"type": "category", "categories": several} for name, several in categories.items()},
        sensitive_features=["group"],
        output="decision",
        look_every={"rows": 200},
        min_leaf_size=50,
        metric=metric,
        explanatory=explanatory,
    )


class Life:
    """The looks of one investigation: each trains on the released rows, and tests a fresh set once."""

    def __init__(self, registration, seed):
        self.registration, self.rng = registration, np.random.default_rng(seed)
        self.released = np.empty(0, DTYPE)
        self.smallest, self.largest = [], []

    def look(self, rows):
        """Take the next look; note the smallest corrected and the largest uncorrected p-value."""
        is_training = self.rng.random(len(rows)) < self.registration.train_size
        codes = np.concatenate([self.released, rows])
        table = {name: pd.Categorical.from_codes(codes[name], CATEGORIES[name]) for name in self.registration.columns}
        train = np.concatenate([np.ones(len(self.released), dtype=bool), is_training])
        level = look_level(1 + len(self.largest), ALPHA)
        report = looks.look(self.registration, pd.DataFrame(table), train, level, int(self.rng.integers(2**32)))
        tests = report.to_frame()
        self.smallest.append(tests["p_value"].min())
        self.largest.append(tests["raw_p_value"].max())
        self.released = np.concatenate([self.released, rows])

    def reports(self, spending):
        """Return whether each look reports anything; contexts do not depend on levels, so one life serves all rules."""
        levels = {
            "series": lambda k: look_level(1 + k, ALPHA),
            "adaptive": lambda k: adaptive_level(self.largest[:k], ALPHA),
            "none": lambda k: ALPHA,
        }[spending]
        return np.array([p_value <= levels(k) for k, p_value in enumerate(self.smallest)])


def rows_of(registration, rng, n, chance, region=None):
    """Return some rows; `chance` maps group, region and channel to the chances of a favourable decision."""
    rows = np.zeros(n, DTYPE)
    n_groups = len(registration.columns["group"].categories)
    rows["region"] = rng.integers(4, size=n)
    rows["channel"] = rng.integers(2, size=n)
    rows["group"] = rng.integers(n_groups, size=n) if region is None else (rng.random(n) < region[rows["region"]])
    rows["decision"] = rng.random(n) < chance(rows["group"], rows["region"], rows["channel"])
    return rows


def fair_life(number, n_looks=50):
    """Return a fair investigation after its looks.

    Groups have equal rates in all contexts. Either rates differ by context, or groups live in different regions. Rates
    change from look to look, at random or with the previous decisions.
    """
    rng = np.random.default_rng([number, 96])
    metric, n_groups = ("NMI", 3) if number % 12 == 11 else (("Difference", "NMI")[number % 2], 2)
    registration = registered(metric, n_groups)
    life = Life(registration, [number, 97])
    is_segregated = n_groups == 2 and number % 4 < 2
    region = rng.uniform(0.1, 0.9, 4) if is_segregated else None
    by_context = rng.uniform(-0.15, 0.15, (4, 2)) * (not is_segregated)
    rate = rng.uniform(0.2, 0.8)
    for _ in range(n_looks):
        chances = rate + by_context
        rows = rows_of(registration, rng, int(rng.integers(200, 401)), lambda g, r, c, of=chances: of[r, c], region)
        life.look(rows)
        by_past = 0.5 + 0.5 * (rows["decision"].mean() - 0.5)
        rate = np.clip(by_past if number % 8 < 4 else rate + rng.normal(0, 0.03), 0.2, 0.8)
    return life


DAYS = ("rates and the share of a group rise over each period", "a group comes in bursts, and rates differ by burst")


def fair_day(number, day, explanatory=None, n_looks=12, n_rows=400):
    """Return an investigation after its looks, with groups that are treated alike at each moment of a period.

    Rates and the share of a group change within a period: both rise, or each of ten hours has its own. The hour can be
    held fixed.
    """
    rng = np.random.default_rng([DAYS.index(day), number, 93])
    registration = registered("NMI", explanatory=explanatory)
    life = Life(registration, [number, 92])
    for _ in range(n_looks):
        time = np.linspace(0, 1, n_rows, endpoint=False)
        hour = (10 * time).astype(int)
        is_rising = day == DAYS[0]
        rate, share = (0.3 + 0.4 * time,) * 2 if is_rising else (rng.uniform(0.3, 0.7, 10)[hour] for _ in range(2))
        rows = rows_of(registration, rng, n_rows, lambda *_, of=rate: of)
        rows["group"], rows["hour"] = rng.random(n_rows) < share, hour
        life.look(rows)
    return life


SCENES = {  # from which decision on, and in which of four regions, groups are treated differently
    "from the first decision": (0, range(4)),
    "after 5,000 fair decisions": (5_000, range(4)),
    "after 5,000, in one region of four": (5_000, range(1)),
}
SIZES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
HORIZON, EVERY = 20_000, 500  # decisions after the start, and decisions per look
WATCHERS = ("looks, series", "looks, adaptive", "confidence sequence", "betting test")


def alarms(scene, size, number):
    """Return the number of decisions until the first alarm of each watcher, infinite if there is none in time."""
    start, places = SCENES[scene]
    registration = registered("Difference")
    rng = np.random.default_rng([list(SCENES).index(scene), SIZES.index(size), number, 98])
    before = rows_of(registration, rng, start, lambda g, r, c: np.full(len(g), 0.4))
    after = rows_of(registration, rng, HORIZON, lambda g, r, c: 0.4 + size * ((g == 1) & np.isin(r, places)))
    rows = np.concatenate([before, after])
    life, found = Life(registration, [number, 99]), dict.fromkeys(WATCHERS, np.inf)
    for until in range(EVERY, len(rows) + 1, EVERY):
        life.look(rows[until - EVERY : until])
        for spending in ("series", "adaptive"):
            if np.isinf(found[f"looks, {spending}"]) and life.reports(spending)[-1]:
                found[f"looks, {spending}"] = until
        if np.isfinite([found["looks, series"], found["looks, adaptive"]]).all():
            break
    group, hits = rows["group"] == 1, rows["decision"] == 1
    totals, counts, _ = counts_of(group, hits, hits)
    pooled = np.broadcast_to((counts.sum(axis=1) / totals.sum(axis=1))[:, None], counts.shape)
    first = is_excluded(counts, totals, pooled, 0.0)
    found["confidence sequence"] = np.inf if first is None else first + 1
    n_pairs = int(totals[-1].min())
    places = [np.flatnonzero(own)[:n_pairs] for own in (~group, group)]
    pair = wealth_first(*(hits[some][:, None] for some in places))[0]
    found["betting test"] = np.inf if pair < 0 else int(max(some[pair] for some in places)) + 1
    return found

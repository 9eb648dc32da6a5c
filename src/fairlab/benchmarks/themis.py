"""Themis: searches by the number of characteristics."""

from functools import partial

from threadpoolctl import threadpool_limits

from fairlab.benchmarks import Measurement, benchmark, measure

MAX_SAMPLES = 50  # for each group, as in Themis 1.0


@benchmark
def themis(*, quick: bool) -> list[Measurement]:
    """Time unpruned searches of system G by the number of characteristics, small ones first."""
    from fairlab.data import load
    from fairlab.papers.themis.instances import INSTANCES
    from fairlab.papers.themis.published import Normal
    from fairlab.papers.themis.systems import VARIANTS, train
    from fairlab.themis import Themis

    [instance] = [instance for instance in INSTANCES if instance.id == "g.census.unaware"]
    decide = train(instance, load(VARIANTS["census"]))  # with every characteristic that it is tested by
    names = ["sex", "race", "relationship", "marital-status", "age", "native-country"][: 3 if quick else 6]
    rows = []

    def search(characteristics):
        themis = Themis(decide, instance.schema, stop=Normal, max_samples=MAX_SAMPLES)
        return themis.search(0.75, measure="both", sensitive_features=characteristics, prune=False)

    for n in range(2, len(names) + 1):
        with threadpool_limits(1):  # as in trials
            tests = search(names[:n]).tests
            seconds = measure(partial(search, names[:n]))
        note = f"G on Census, {', '.join(names[:n])}: {tests:,} tests, one thread"
        rows.append(Measurement(f"themis_search_{n}_characteristics_seconds", seconds, "s", note=note))
    return rows

import numpy as np

from fairlab.seeds import Trial, derive_seed


def test_seeds_depend_on_names_only():
    assert derive_seed(0, "a", 1) == derive_seed(0, "a", 1)
    names = [(0, "a", 1), (0, "a", 2), (1, "a", 1), (0, "b", 1), (0, "a1", ""), (0, "a", "1", "")]
    assert len({derive_seed(*name) for name in names}) == len(names)
    assert all(0 <= derive_seed(*name) < 2**32 for name in names)


def test_known_value_never_changes():
    # A change here changes every result of the project.
    assert derive_seed(0, "fliptest/lipton", 0, "gan") == 993360987
    assert Trial("fliptest", 0).rng("gan").integers(2**32) == 2719223057


def test_generators_have_all_the_entropy_that_numpy_asks_for():
    seeds = [derive_seed("a", k, bits=128) for k in range(100)]
    assert len({seed >> 96 for seed in seeds}) == len({seed % 2**32 for seed in seeds}) == 100
    assert all(0 <= seed < 2**128 for seed in seeds)
    own = Trial("toy/mean", 3, 7)
    expected = np.random.default_rng(derive_seed(7, "toy/mean", 3, "draw", bits=128)).random()
    assert own.rng("draw").random() == expected


def test_streams_of_a_trial_are_independent():
    trial = Trial("toy/mean", 3)
    first = trial.rng("draw").normal(size=5)
    trial.rng("other").normal(size=100)
    assert (trial.rng("draw").normal(size=5) == first).all()
    assert trial.seed("draw") != trial.seed("other") != Trial("toy/mean", 4).seed("other")

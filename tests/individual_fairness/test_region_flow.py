import numpy as np

from fairlab.individual_fairness.region_flow import follow_network

RNG = np.random.default_rng(0)
N_POINTS, N_FEATURES, N_UNITS = 8, 3, 12
INSIDE = np.diag([1.0, 0.0, 0.0])  # of the sensitive subspace: the first axis


def test_pushes_of_units_are_those_of_eulers_scheme():
    kernel, bias, weight = (
        RNG.normal(size=(N_FEATURES, N_UNITS)),
        RNG.normal(size=N_UNITS),
        3 * RNG.normal(size=N_UNITS),
    )
    X, signs = RNG.normal(size=(N_POINTS, N_FEATURES)), np.repeat([-1.0, 1.0], N_POINTS // 2)
    sizes = np.full(60, 0.05)
    left = 1 - 2 * 3.0 * sizes
    push_in, push_out = np.empty((2, N_POINTS, N_UNITS))
    kept = np.empty((60, N_POINTS))
    grams = kernel.T @ INSIDE @ kernel, kernel.T @ (np.eye(N_FEATURES) - INSIDE) @ kernel
    follow_network(X @ kernel + bias, weight, 0.5, *grams, signs, sizes, left, push_in, push_out, kept)

    moved, n_turned = X, 0
    for k, size in enumerate(sizes):
        active = moved @ kernel + bias > 0
        odds = np.maximum(moved @ kernel + bias, 0) @ weight + 0.5
        np.testing.assert_allclose(kept[k], odds, rtol=1e-8)
        slope = -signs / (1 + np.exp(signs * odds))
        held_back = 2 * 3.0 * (moved - X) @ (np.eye(N_FEATURES) - INSIDE)
        moved = moved + size * ((slope[:, None] * active * weight) @ kernel.T - held_back)
        n_turned += (active != (moved @ kernel + bias > 0)).sum()
    assert n_turned > 10
    ours = X + push_in @ kernel.T @ INSIDE + push_out @ kernel.T @ (np.eye(N_FEATURES) - INSIDE)
    np.testing.assert_allclose(ours, moved, atol=1e-9)

"""The walks of AEQUITAS on a small network in one compiled loop.

A walk queries a few rows at a time, for which the overhead of NumPy's calls would exceed the arithmetic. Rows are the
last axis, so that a layer of few units is as quick as a wide one. Sums are taken in the order of the inputs, however
many rows there are.
"""

import numpy as np

from fairlab.models.loops import compiled, compiling

summing = compiling(fastmath={"contract"})  # as in matrix products
ROWS_AT_ONCE = 64  # passed through a network at once


@summing
def multiply(kernel, n_in, n_out, entering, leaving, n):
    """Write ``kernel.T @ entering`` into `leaving` for the first `n` rows; rows are the last axis of both."""
    j = 0
    while j < n_out:
        one, other = leaving[j], leaving[min(j + 1, n_out - 1)]  # two units at once: each row is read half as often
        both = j + 1 < n_out
        for r in range(n):
            one[r] = 0
        if both:
            for r in range(n):
                other[r] = 0
        a = 0
        while a + 4 <= n_in and both:
            k0, k1, k2, k3 = a * n_out + j, (a + 1) * n_out + j, (a + 2) * n_out + j, (a + 3) * n_out + j
            v0, v1, v2, v3 = kernel[k0], kernel[k1], kernel[k2], kernel[k3]
            w0, w1, w2, w3 = kernel[k0 + 1], kernel[k1 + 1], kernel[k2 + 1], kernel[k3 + 1]
            x0, x1, x2, x3 = entering[a], entering[a + 1], entering[a + 2], entering[a + 3]
            for r in range(n):
                one[r] = (((one[r] + v0 * x0[r]) + v1 * x1[r]) + v2 * x2[r]) + v3 * x3[r]
                other[r] = (((other[r] + w0 * x0[r]) + w1 * x1[r]) + w2 * x2[r]) + w3 * x3[r]
            a += 4
        while a < n_in:
            v0, x0 = kernel[a * n_out + j], entering[a]
            for r in range(n):
                one[r] += v0 * x0[r]
            if both:
                w0 = kernel[a * n_out + j + 1]
                for r in range(n):
                    other[r] += w0 * x0[r]
            a += 1
        j += 2


@summing
def follow(weights, widths, layers, n):
    """Write the output of each layer into `layers`, of shape (n_layers + 1, widest, n_rows); the first is the input.

    These are the values of `fairlab.networks.layer_inputs`, then the logits.
    """
    place = 0
    for k in range(len(widths) - 1):
        n_in, n_out = widths[k], widths[k + 1]
        multiply(weights[place : place + n_in * n_out], n_in, n_out, layers[k], layers[k + 1], n)
        place += n_in * n_out
        for j in range(n_out):
            for r in range(n):
                value = layers[k + 1, j, r] + weights[place + j]
                layers[k + 1, j, r] = np.float32(0) if value <= 0 and k < len(widths) - 2 else value
        place += n_out


@compiled
def total_of(values):
    """Return ``values.sum()`` to the bit, in NumPy's order: rounding of odds grows from step to step."""
    n = len(values)
    if n > 128:
        half = n // 2 - (n // 2) % 8
        return total_of(values[:half]) + total_of(values[half:])
    whole, total = n - n % 8, 0.0
    if whole:
        r = values[:8].copy()
        for start in range(8, whole, 8):
            for k in range(8):
                r[k] += values[start + k]
        total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
    for k in range(whole, n):
        total += values[k]
    return total


@compiled
def walk(weights, widths, X, is_0, run, chance, attribute, down, rates, domain, sensitive_features, rules):
    """Take steps of all walks as `Aequitas._walk` does; the odds, `X` and `is_0` are changed in place.

    Parameters
    ----------
    weights, widths : ndarray
        Kernels and biases in turn, in one array, and the width of every layer, the inputs among them.
    X : ndarray of int of shape (n_walks, n_attributes)
        Current inputs of the walks.
    is_0 : ndarray of bool of shape (n_walks,)
        Whether the sensitive value that the check returns for the current input is 0.
    run : ndarray of int of shape (n_walks,)
    chance : ndarray of shape (n_steps, n_walks, 3)
    attribute, down : ndarray of shape (n_runs, n_attributes)
        See `Odds`.
    rates : (float, float)
        Amounts by which a move changes the odds of its attribute and of its direction.
    domain : (ndarray, ndarray)
        Lowest and highest values.
    sensitive_features : (ndarray, ndarray)
        Columns, and combinations of their values.
    rules : (bool, bool, float)
        Whether every move is kept, whether odds learn from discrimination, and the chance of a move to a value of 0.

    Returns
    -------
    moved : ndarray of int of shape (n_steps, n_walks, n_attributes)
    partner : ndarray of int of shape (n_steps, n_walks)
        See `Partners`.
    is_finite : bool
        Whether all logits are.
    """
    (low, high), (columns, values), (keeps_all, learns_from_partners, accept_0) = domain, sensitive_features, rules
    n_steps, n_walks, _ = chance.shape
    n_runs, n_attributes = attribute.shape
    moved = np.empty((n_steps, n_walks, n_attributes), dtype=np.int64)
    partner = np.empty((n_steps, n_walks), dtype=np.int64)
    layers = np.empty((len(widths), widths.max(), ROWS_AT_ONCE), dtype=np.float32)
    classes = np.empty(n_walks * len(values), dtype=np.int64)
    summed, changes = np.empty((n_runs, n_attributes)), np.empty((2, n_runs, n_attributes))
    along, steps = np.empty(n_walks, dtype=np.int64), np.empty(n_walks, dtype=np.int64)
    is_finite = True
    for number in range(n_steps):
        for k in range(n_runs):
            total = 0.0
            for a in range(n_attributes):
                total += attribute[k, a]
                summed[k, a] = total
            for a in range(n_attributes):
                summed[k, a] /= total
        changes[:] = 0
        for i in range(n_walks):
            column = 0
            for a in range(n_attributes):
                column += summed[run[i], a] <= chance[number, i, 0]
            value = X[i, column]
            at_bound = value <= low[column] or value >= high[column]
            step = -1 if chance[number, i, 1] < (0.5 if at_bound else down[run[i], column]) else 1
            for a in range(n_attributes):
                moved[number, i, a] = min(max(X[i, a] + (step if a == column else 0), low[a]), high[a])
            along[i], steps[i] = column, step
        for start in range(0, len(classes), ROWS_AT_ONCE):
            n = min(ROWS_AT_ONCE, len(classes) - start)
            for r in range(n):
                i, v = divmod(start + r, len(values))
                for a in range(n_attributes):
                    layers[0, a, r] = moved[number, i, a]
                for c in range(len(columns)):
                    layers[0, columns[c], r] = values[v, c]
            follow(weights, widths, layers, n)
            for r in range(n):
                best = 0
                for j in range(widths[-1]):
                    is_finite &= np.isfinite(layers[-1, j, r])
                    if layers[-1, j, r] > layers[-1, best, r]:
                        best = j
                classes[start + r] = best
        for i in range(n_walks):
            own, mine = classes[i * len(values) : (i + 1) * len(values)], -1
            for v in range(len(values)):
                is_own = True
                for c in range(len(columns)):
                    is_own &= values[v, c] == moved[number, i, columns[c]]
                if is_own:
                    mine = own[v]
            found = -1
            for v in range(len(values)):
                if own[v] != mine:
                    found = v
                    break
            returns_0 = True
            for c in range(len(columns)):
                returns_0 &= (values[found, c] if found >= 0 else moved[number, i, columns[c]]) == 0
            partner[number, i] = found
            pays = found >= 0 if learns_from_partners else not returns_0
            changes[0, run[i], along[i]] += rates[0] if pays else -rates[0]
            changes[1, run[i], along[i]] += rates[1] if (steps[i] == -1) == pays else -rates[1]
            if keeps_all or returns_0 <= is_0[i] or chance[number, i, 2] < accept_0:
                X[i] = moved[number, i]
                is_0[i] = returns_0
        for k in range(n_runs):
            for a in range(n_attributes):
                if rates[1]:
                    down[k, a] = min(max(down[k, a] + changes[1, k, a], 0.0), 1.0)
                summed[k, a] = max(attribute[k, a] + changes[0, k, a], 0.0)
            total = total_of(summed[k])
            if rates[0] and total > 0:
                for a in range(n_attributes):
                    attribute[k, a] = summed[k, a] / total
    return moved, partner, is_finite

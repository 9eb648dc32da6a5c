"""Symbolic generation: paths and intervals against the libraries that the authors built it from."""

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from fairlab.benchmarks import Measurement, benchmark, measure, speed_up
from fairlab.checks import optional
from fairlab.papers.adf.symbolic import PathCondition, SymbolicGeneration

z3, lime_tabular = optional("z3"), optional("lime.lime_tabular")
TREE_SEED = 2019


@benchmark
def sg_vs_one_at_a_time(*, quick: bool) -> list[Measurement]:
    """Time to explore inputs of credit and gender, and with lime's rows, scikit-learn's whole trees and z3."""
    from fairlab.benchmarks.adf import stored_subject
    from fairlab.networks import FeedForward
    from fairlab.papers.adf.benchmarks import BENCHMARKS

    name, n_inputs = "credit.gender", 10 if quick else 100
    subject, seeds = stored_subject(name)
    options = {"schema": BENCHMARKS[name].schema, "sensitive_features": BENCHMARKS[name].sensitive_features}
    ours, libraries = (
        search(FeedForward(subject.weights), **options) for search in (SymbolicGeneration, WithLibraries)
    )
    for search in (ours, libraries):
        search.generate(subject.X, seeds, n_inputs=1)
    return [
        speed_up(
            "sg_vs_one_at_a_time",
            baseline=measure(lambda: libraries.generate(subject.X, seeds, n_inputs=n_inputs), repeats=1),
            ours=measure(lambda: ours.generate(subject.X, seeds, n_inputs=n_inputs)),
            note=f"{n_inputs} inputs of {name} explored, 5,000 rows a tree, same network and seeds",
        )
    ]


class WithLibraries(SymbolicGeneration):
    """Symbolic generation with lime's rows, a whole tree of scikit-learn for every input, and z3's solutions."""

    def _explainer(self, X, rng):
        explainer = lime_tabular.LimeTabularExplainer(
            X,
            categorical_features=list(range(X.shape[1])),
            discretize_continuous=False,
            random_state=np.random.RandomState(rng.integers(2**31)),  # what lime takes
        )

        def explain(x):
            # The step of `explain_instance` that draws the rows; the linear model that it fits next is not used.
            _, rows = explainer._LimeTabularExplainer__data_inverse(x, self.n_neighbours)
            model = DecisionTreeClassifier(random_state=TREE_SEED).fit(rows, self.classify(rows))
            return path_through(model.tree_, x)

        return explain

    def _solve(self, x, conditions, rng):
        return solve_by_z3(x, conditions, self._bounds)


def solve_by_z3(x, conditions, bounds) -> tuple | None:
    """Solve as `fairlab.papers.adf.symbolic.solve` does, with values chosen by z3."""
    solver = z3.Solver()
    variables = {c.column: z3.Int(f"x{c.column}") for c in conditions}
    for column, variable in variables.items():
        solver.add(variable >= bounds[column][0], variable <= bounds[column][1])
    for c in conditions:
        solver.add(variables[c.column] <= c.threshold if c.below else variables[c.column] > c.threshold)
    if solver.check() != z3.sat:
        return None
    values = solver.model()
    child = list(x)
    for column, variable in variables.items():
        child[column] = values[variable].as_long()
    return tuple(child)


def path_through(tree, x) -> list[PathCondition]:
    """Return the conditions that `x` fulfils on its way through a fitted tree of scikit-learn."""
    path, node = [], 0
    while tree.children_left[node] >= 0:
        column, threshold = int(tree.feature[node]), tree.threshold[node]
        below = bool(x[column] <= threshold)
        child = (tree.children_left if below else tree.children_right)[node]
        share = float(tree.n_node_samples[child] / tree.n_node_samples[node])
        path.append(PathCondition(column, below, int(np.floor(threshold)), share))
        node = child
    return path

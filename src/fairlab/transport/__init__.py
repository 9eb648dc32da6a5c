"""Optimal transport between two groups: exact couplings of samples, and maps learnt by networks."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "columns": ["ColumnCosts"],
        "cost": ["squared_l1"],
        "exact": ["ExactTransport"],
        "divergence": ["DivergenceError", "DivergenceWarning"],
        "gan": ["GANTransport"],
        "gan_ensemble": ["GANEnsemble"],
        "one_dimension": ["monotone_rearrangement"],
        "plan": ["SolverError"],
        "seguy": ["SeguyEnsemble", "SeguyTransport"],
    },
)

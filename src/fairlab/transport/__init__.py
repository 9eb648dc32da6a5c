"""Optimal transport between two groups: exact couplings of samples, and maps learnt by networks.

Examples
--------
>>> from fairlab.transport import SeguyEnsemble, SeguyTransport
>>> sorted(SeguyTransport().get_params())[:2]
['batch_size', 'cost']
>>> SeguyEnsemble(random_states=[0, 1]).get_params()["random_states"]
[0, 1]
"""

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

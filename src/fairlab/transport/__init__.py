"""Optimal transport between two groups: exact couplings of samples, and maps learnt by networks.

Examples
--------
>>> from fairlab.transport import ExactTransport, GANTransport
>>> ExactTransport().fit([[0.0], [5.0]], [[6.0], [1.0]]).transform([[0.0], [5.0]]).tolist()
[[1.0], [6.0]]
>>> GANTransport(n_steps=500).get_params()["n_steps"]
500
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)

"""Reproduction of ADF (Zhang et al. 2020): benchmarks, searches, symbolic generation and retraining."""

import warnings

# Census is known to have such rows; `adf/models` shows them.
warnings.filterwarnings("ignore", message="X: rows outside of the bounds of the schema")

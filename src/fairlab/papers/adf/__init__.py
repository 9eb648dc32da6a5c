"""ADF (Zhang et al. 2020) replayed: trials, benchmarks, records and claims of its experiments."""

import warnings

# Census has such rows, which is known, and shown in `adf/models`.
warnings.filterwarnings("ignore", message="X: rows outside of the bounds of the schema")

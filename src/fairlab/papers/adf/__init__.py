"""ADF (Zhang et al. 2020) replayed: trials, benchmarks, records and claims of its experiments."""

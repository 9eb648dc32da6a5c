"""Inference for individual fairness (Maity et al. 2021) replayed: trials, splits, records and claims."""

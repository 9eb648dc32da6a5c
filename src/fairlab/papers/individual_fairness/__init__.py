"""Reproduction of inference for individual fairness (Maity et al. 2021): splits, models, measures, stored output."""

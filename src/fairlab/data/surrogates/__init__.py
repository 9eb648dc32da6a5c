"""Surrogates for real data: how they are fitted, stored and drawn."""

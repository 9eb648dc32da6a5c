"""Themis (Galhotra, Brun, Meliou 2017) replayed: trials, the twenty instances, records and claims."""

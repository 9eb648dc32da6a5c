"""Themis (Galhotra, Brun, Meliou 2017): the systems under test, the stored suites, and the rules as published."""

"""Themis (Galhotra, Brun, Meliou 2017): group and causal discrimination of programs, by generated tests."""

from fairlab.themis.exact import DomainTooLargeError, causal_score, group_score, output_table
from fairlab.themis.schema import Characteristic, Schema, SchemaError
from fairlab.themis.software import CommandSoftware, SoftwareError
from fairlab.themis.suites import StoredSuite, SuiteError, SuiteScore, score_suite, stored_suites
from fairlab.themis.themis import Score, Search, Themis

__all__ = ["Characteristic", "CommandSoftware", "DomainTooLargeError", "Schema", "SchemaError", "Score", "Search"]
__all__ += ["SoftwareError", "StoredSuite", "SuiteError", "SuiteScore", "Themis", "causal_score", "group_score"]
__all__ += ["output_table", "score_suite", "stored_suites"]

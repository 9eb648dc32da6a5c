"""FlipTest (Black, Yeom, Fredrikson 2020): whose outcome changes with the group, and along with what."""

from fairlab.fliptest.counterfactual import KnowledgeModel
from fairlab.fliptest.flipset import Flipset, flipset
from fairlab.fliptest.intervals import flipset_intervals
from fairlab.fliptest.overlap import FlipsetOverlap, Overlap, flipset_overlap
from fairlab.fliptest.scaling import PooledScaler
from fairlab.fliptest.sensitivity import COSTS, flipsets_by_cost, maps_by_penalty
from fairlab.fliptest.transparency import TransparencyReport, transparency_report
from fairlab.fliptest.validation import MapValidation, usable_maps, validate_map

__all__ = [
    "COSTS",
    "Flipset",
    "FlipsetOverlap",
    "KnowledgeModel",
    "MapValidation",
    "Overlap",
    "PooledScaler",
    "TransparencyReport",
    "flipset",
    "flipset_intervals",
    "flipset_overlap",
    "flipsets_by_cost",
    "maps_by_penalty",
    "transparency_report",
    "usable_maps",
    "validate_map",
]

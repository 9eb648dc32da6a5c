"""FlipTest (Black, Yeom, Fredrikson 2020): whose outcome changes with the group, and along with what."""

from fairlab.fliptest.counterfactual import KnowledgeModel
from fairlab.fliptest.flipset import Flipset, flipset
from fairlab.fliptest.overlap import FlipsetOverlap, Overlap, flipset_overlap
from fairlab.fliptest.scaling import PooledScaler
from fairlab.fliptest.transparency import TransparencyReport, transparency_report
from fairlab.fliptest.validation import MapValidation, usable_maps, validate_map

__all__ = [
    "Flipset",
    "FlipsetOverlap",
    "KnowledgeModel",
    "MapValidation",
    "Overlap",
    "PooledScaler",
    "TransparencyReport",
    "flipset",
    "flipset_overlap",
    "transparency_report",
    "usable_maps",
    "validate_map",
]

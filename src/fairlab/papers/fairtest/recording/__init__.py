"""Records and claims of each experiment, by its name."""

from fairlab.papers.fairtest.recording.detection import effectiveness, health
from fairlab.papers.fairtest.recording.labels import image_tagger, recommender
from fairlab.papers.fairtest.recording.printed_contexts import adult, berkeley
from fairlab.papers.fairtest.recording.shopper_draws import staples
from fairlab.papers.fairtest.recording.side_by_side import overview, performance

__all__ = [
    "adult",
    "berkeley",
    "effectiveness",
    "health",
    "image_tagger",
    "overview",
    "performance",
    "recommender",
    "staples",
]

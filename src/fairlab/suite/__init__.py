"""The suite: runs notebooks, keeps and judges what they record."""

import lazy_loader as lazy

PARTS = ("batch", "cluster", "comparison", "drawing", "notebook", "run", "scorecard")  # that the commands use
__getattr__, *_ = lazy.attach(__name__, submodules=PARTS)

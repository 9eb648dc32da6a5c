"""The suite: runs notebooks, keeps and judges what they record."""

import sys

import lazy_loader as lazy

# What nbformat's checker of schemas loads for formats that no notebook has, longer than all else takes.
sys.modules |= dict.fromkeys({"rfc3987_syntax", "isoduration", "webcolors", "uri_template"} - sys.modules.keys())

PARTS = ("batch", "cluster", "comparison", "drawing", "notebook", "run", "scorecard")  # that the commands use
__getattr__, *_ = lazy.attach(__name__, submodules=PARTS)

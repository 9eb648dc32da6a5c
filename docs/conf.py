"""How Sphinx builds the site; `fairlab site` writes the sources and calls it."""

import numpy as np
from docutils.nodes import SkipNode
from latex2mathml.converter import convert

from fairlab import __version__

project = "fairlab"
author = "The fairlab contributors"
copyright = author
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_design",
]

# Notebooks are shown as they are: nothing is run.
nb_execution_mode = "off"
nb_ipywidgets_js = {}
nb_merge_streams = True
nb_mime_priority_overrides = [("html", "text/html", 0), ("html", "image/png", 1)]
myst_enable_extensions = ["colon_fence", "dollarmath", "attrs_inline"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

# What scikit-learn adds to its estimators is described there.
REQUESTS = "set_fit_request, set_predict_request, set_score_request, set_transform_request, set_partial_fit_request"
autodoc_default_options = {"exclude-members": REQUESTS}
autosummary_generate = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
suppress_warnings = ["myst.header", "mystnb.unknown_mime_type", "mystnb.mime_priority"]

html_context = {"default_mode": "auto"}
html_theme = "pydata_sphinx_theme"
html_title = "fairlab"
html_static_path = ["_static"]
html_css_files = ["fairlab.css"]
html_js_files = [("scorecard.js", {"defer": "defer"})]
html_show_sourcelink = False
html_copy_source = False
html_baseurl = ""
html_sidebars = {"index": [], "scorecard": []}
html_theme_options = {
    "logo": {"text": "fairlab"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "scorecard": []},
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def setup(app):
    """Show formulas as MathML, which needs no script, font or network; and no functions of NumPy as methods of ours."""
    app.add_html_math_renderer("mathml", inline_renderers=(inline_formula, None), block_renderers=(formula, None))
    app.connect(
        "autodoc-skip-member", lambda app, what, name, member, skip, options: isinstance(member, np.ufunc) or None
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def inline_formula(translator, node):
    """Write a formula within a line."""
    translator.body.append(convert(node.astext()))
    raise SkipNode


def formula(translator, node):
    """Write a formula of its own."""
    translator.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise SkipNode

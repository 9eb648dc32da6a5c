"""How Sphinx builds the site; `fairlab site` writes the sources and calls it."""

import re
from base64 import b64decode
from functools import cache
from html import escape
from io import BytesIO
from pathlib import Path

import numpy as np
from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from PIL import Image
from sphinx.search.en import SearchEnglish

from fairlab import __version__
from fairlab.site.places import ADDRESSES

project = "fairlab"
author = "The fairlab contributors"
version = release = __version__
copyright = f"{author}; this is fairlab {version}"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_design",
]

html_extra_path = ["extra"]  # figures, notebooks of labs to download, the sample report

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
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
suppress_warnings = ["myst.header", "mystnb.unknown_mime_type", "mystnb.mime_priority"]

REPOSITORY = ADDRESSES.get("Repository")
DESCRIPTION = (
    "Five papers on fairness testing, checked number by number, and their five methods to audit your own models."
)

html_context = {"default_mode": "auto"}
html_favicon = "_static/favicon.svg"
html_theme = "pydata_sphinx_theme"
html_title = "fairlab"
html_static_path = ["_static"]
html_css_files = ["fairlab.css"]
html_js_files = [("scorecard.js", {"defer": "defer"})]
html_show_sourcelink = False
html_domain_indices = False
html_copy_source = False
html_baseurl = ADDRESSES.get("Documentation", "")  # which a picture for links needs
html_sidebars = {"index": [], "scorecard": []}
html_theme_options = {
    "logo": {"text": "fairlab"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "icon_links": [{"name": "Repository", "url": REPOSITORY, "icon": "fa-brands fa-github"}] if REPOSITORY else [],
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "collapse_navigation": True,
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
    app.connect("html-page-context", describe)
    app.connect("html-page-context", size_images)
    SearchEnglish.stem = cache(SearchEnglish.stem)  # of every word of every page, a seventh of the seconds
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def describe(app, page, template, context, doctree):
    """Add what a link to a page is shown with elsewhere: its title, a sentence and a picture."""
    tags = context.get("metatags", "")
    if 'name="description"' not in tags:
        tags += f'<meta name="description" content="{escape(DESCRIPTION)}">'
    picture = f"{html_baseurl}_static/social.png" if html_baseurl else context["pathto"]("_static/social.png", 1)
    facts = {"title": context.get("title", "fairlab"), "type": "website", "image": picture, "description": DESCRIPTION}
    context["metatags"] = tags + "".join(
        f'<meta property="og:{name}" content="{escape(text)}">' for name, text in facts.items()
    )


UNSIZED = re.compile(r'<img (?![^>]*\b(?:height|style)=)([^>]*?src="([^"]+\.png|data:image/png;base64,[^"]+)"[^>]*)>')
WIDTH = re.compile(r'\bwidth="(\d+)"')


def size_images(app, page, template, context, doctree):
    """Give the pictures that a notebook drew their size, or height, so that a page does not jump while it loads."""
    files = {name: source for source, name in app.builder.images.items()}

    def sized(found):
        name = found[2].rpartition("/")[2]
        if found[2].startswith("data:"):
            picture = BytesIO(b64decode(found[2].partition(",")[2]))
        elif name in files:
            picture = Path(app.srcdir, files[name])
        else:
            return found[0]
        width, height = Image.open(picture).size
        if given := WIDTH.search(found[1]):
            return f'<img height="{round(height * int(given[1]) / width)}" {found[1]}>'
        return f'<img width="{width}" height="{height}" {found[1]}>'

    if "body" in context:
        context["body"] = UNSIZED.sub(sized, context["body"])


def inline_formula(translator, node):
    """Write a formula within a line."""
    translator.body.append(convert(node.astext()))
    raise SkipNode


def formula(translator, node):
    """Write a formula of its own."""
    translator.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise SkipNode

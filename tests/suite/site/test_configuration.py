import runpy
from types import SimpleNamespace

import numpy as np
import pytest
from docutils import nodes

from fairlab.paths import project

ROOT = project().root


@pytest.fixture
def renderers():
    given = {}
    app = SimpleNamespace(
        add_html_math_renderer=lambda name, **renderers: given.update(renderers, name=name),
        connect=lambda event, function: given.update({event: function}),
    )
    runpy.run_path(str(ROOT / "docs" / "conf.py"))["setup"](app)
    return given


@pytest.mark.parametrize(("kind", "display"), [("inline", "inline"), ("block", "block")])
def test_formulas_become_mathml_and_nothing_else(renderers, kind, display):
    translator = SimpleNamespace(body=[])
    with pytest.raises(nodes.SkipNode):
        renderers[f"{kind}_renderers"][0](translator, nodes.math(text=r"\frac{1}{n} \sum_i x_i"))
    (text,) = translator.body
    assert "<mfrac>" in text
    assert f'display="{display}"' in text
    assert "<script" not in text


def test_functions_of_numpy_are_no_methods_of_ours(renderers):
    skip = renderers["autodoc-skip-member"]
    assert skip(None, "class", "compare", np.subtract, False, None)
    assert skip(None, "class", "compare", len, False, None) is None

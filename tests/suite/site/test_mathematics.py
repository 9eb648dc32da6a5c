from types import SimpleNamespace

import pytest
from docutils import nodes

from fairlab.suite.site import mathematics


@pytest.fixture
def renderers():
    given = {}
    app = SimpleNamespace(add_html_math_renderer=lambda name, **renderers: given.update(renderers, name=name))
    mathematics.setup(app)
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

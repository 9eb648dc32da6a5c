"""Mathematics as MathML, which browsers render without scripts, fonts or network."""

from latex2mathml.converter import convert


def setup(app) -> dict:
    """Add the renderer ``mathml`` to Sphinx."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(translator, node) -> None:
    from docutils.nodes import SkipNode

    translator.body.append(convert(node.astext()))
    raise SkipNode


def _block(translator, node) -> None:
    from docutils.nodes import SkipNode

    translator.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise SkipNode

"""The gallery: one page per paper, every figure with its caption and source code."""

from html import escape

from fairlab.suite.site.drawings import Picture, pictures
from fairlab.suite.site.wording import tag

FORMATS = ("png", "svg", "csv")


def gallery_page(paper: str, name: str) -> str:
    """Return the page of one paper's figures as Markdown."""
    own = pictures(paper)
    parts = [f"# Figures of {name}", f"{len(own)} figures, each with its data as CSV."]
    for picture in own:
        parts += [f"## {picture.title}", f"```{{raw}} html\n{entry(picture)}\n```"]
        if picture.code:
            parts += [f":::{{dropdown}} Source code\n```python\n{picture.code}\n```\n:::"]
    return "\n\n".join(parts) + "\n"


def entry(picture: Picture, root: str = "../") -> str:
    """Return a figure with its files and a link to the notebook that draws it."""
    stem = f"{root}figures/{picture.paper}/{picture.stem}"
    files = ", ".join(
        tag("a", suffix.upper(), href=f"{stem}.{suffix}", aria_label=f"{picture.title} as {suffix.upper()}")
        for suffix in FORMATS
    )
    experiment = picture.about["experiment"]
    notebook = tag("a", escape(experiment), href=f"{root}notebooks/{experiment}.html")
    draw = picture.about.get("draw")
    drawn = f"; drawn by {tag('code', escape(draw))}" if draw else ""
    return picture.figure(root) + tag("p", f"From {notebook}{drawn}; {files}", class_="fl-files")

"""Code on pages: the same code in lines that a page shows whole."""

import re
import subprocess
import sys
import textwrap
from collections.abc import Sequence

from fairlab.checks import optional

nbformat = optional("nbformat")

LONGEST = 88  # characters of a line
LANGUAGES = ("", "bash", "python", "toml")  # of blocks that are code
FENCE = re.compile(r"( *)(`{3,})(.*)")
COMMENT = re.compile(r"( *)([^#\s][^#]*?)  +(# .*)")  # behind code


def narrow_blocks(text: str) -> str:
    """Return Markdown whose blocks of code have short lines."""
    parts, fence = [[]], None  # lines of text and of blocks, in turn
    for line in text.split("\n"):
        found = FENCE.fullmatch(line)
        if fence is None and found:
            fence = found
            parts += [[line], []]
        elif fence and found and found[2].startswith(fence[2]) and not found[3]:
            fence = None
            parts += [[line]]
        else:
            parts[-1].append(line)
    blocks = {k: FENCE.fullmatch(parts[k - 1][0]) for k in range(2, len(parts), 3)}
    code = {k: textwrap.dedent("\n".join(parts[k])) for k, opened in blocks.items() if opened[3] in LANGUAGES}
    python = [k for k in code if blocks[k][3] == "python"]
    made = {k: _comments_above(block) for k, block in code.items()}
    made |= dict(zip(python, narrow([code[k] for k in python]), strict=True))
    for k, block in made.items():
        parts[k] = textwrap.indent(block.rstrip("\n"), blocks[k][1]).split("\n")
    return "\n".join(line for part in parts for line in part)


def narrow(codes: Sequence[str]) -> list[str]:
    """Return pieces of Python code with short lines, by Ruff; where it is not installed, long comments alone move."""
    codes = [_comments_above(code) for code in codes]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in codes])
    asked = [sys.executable, "-m", "ruff", "format", f"--line-length={LONGEST}", "--stdin-filename=page.ipynb", "-"]
    made = subprocess.run(asked, input=nbformat.writes(notebook), capture_output=True, text=True, check=False).stdout
    return [cell.source for cell in nbformat.reads(made, as_version=4).cells] if made else codes


def _comments_above(code: str) -> str:
    """Return code whose comments stand above their lines where these are too long, and are wrapped themselves."""
    lines = []
    for line in code.splitlines():
        if len(line) > LONGEST and (found := COMMENT.fullmatch(line)):
            lines += [f"{found[1]}{found[3]}", f"{found[1]}{found[2]}"]
        else:
            lines.append(line)
    wrapped = [
        textwrap.fill(line, LONGEST, subsequent_indent=f"{line[: len(line) - len(line.lstrip())]}# ")
        if len(line) > LONGEST and line.lstrip().startswith("# ")
        else line
        for line in lines
    ]
    return "\n".join(wrapped)

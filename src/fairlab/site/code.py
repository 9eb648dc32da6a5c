"""Code on pages: the same code in lines that a page shows whole."""

import re
import subprocess
import sys
import textwrap
from collections.abc import Sequence

from fairlab.checks import optional

nbformat = optional("nbformat")

LONGEST = 88  # characters of a line
BLOCK = re.compile(r"^( *)```(python|bash|toml|)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"( *)([^#\s][^#]*?)  +(# .*)")  # behind code


def narrow_blocks(text: str) -> str:
    """Return Markdown whose blocks of code have short lines."""
    blocks = [textwrap.dedent(block) for _, _, block in BLOCK.findall(text)]
    made = {block: block for block in blocks} | dict(zip(blocks, map(_comments_above, blocks), strict=True))
    python = [textwrap.dedent(block) for _, language, block in BLOCK.findall(text) if language == "python"]
    made |= dict(zip(python, narrow(python), strict=True))

    def write(found):
        indent, language, block = found.groups()
        code = textwrap.indent(made[textwrap.dedent(block)].rstrip("\n"), indent)
        return f"{indent}```{language}\n{code}\n{indent}```"

    return BLOCK.sub(write, text)


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

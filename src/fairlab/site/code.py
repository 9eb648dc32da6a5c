"""Code on pages: the same code in lines that a page shows whole."""

import ast
import re
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from functools import partial

from fairlab.checks import optional

nbformat = optional("nbformat")

LONGEST = 88  # characters of a line
LANGUAGES = ("", "bash", "python", "toml")  # of blocks that are code
FENCE = re.compile(r"( *)(`{3,})(.*)")
EXAMPLE = re.compile(r"^ *>>> .*\n(?: *\.\.\. ?.*\n)*", re.MULTILINE)
COMMENT = re.compile(r"( *)([^#\s][^#]*?)  +(# .*)")  # behind code
STRING = re.compile(r'(?<![\w"])(f?)"((?:[^"\\]|\\.)+)"(?!")')
WORD = re.compile(r"(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|\S)+\s*|\s+")  # a value of an f-string is within one


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


def narrow_examples(lines: Sequence[str]) -> list[str]:
    """Return the lines of a docstring, the code of whose examples has short lines; what these print stays."""
    found = [code for code in EXAMPLE.findall("\n".join([*lines, ""])) if max(map(len, code.splitlines())) > LONGEST]
    if not found:
        return list(lines)
    codes = narrow([re.sub(r"^ *(>>>|\.\.\.) ?", "", code, flags=re.MULTILINE) for code in found], LONGEST - 8)
    made = dict(zip(found, codes, strict=True))

    def example(found):
        if found[0] not in made:
            return found[0]
        code = ">>> " + made[found[0]].replace("\n", "\n... ") + "\n"
        return textwrap.indent(code, re.match(" *", found[0])[0])

    return EXAMPLE.sub(example, "\n".join([*lines, ""])).split("\n")[:-1]


def narrow(codes: Sequence[str], longest: int = LONGEST) -> list[str]:
    """Return pieces of Python code with short lines, by Ruff; where it is not installed, long comments alone move."""
    codes = [_comments_above(code) for code in codes]
    for change in (str, partial(_shorter_texts, longest=longest)):  # of what is too long, then of what still is
        long = [k for k, code in enumerate(codes) if max(map(len, code.splitlines()), default=0) > longest]
        made = dict(zip(long, _formatted([change(codes[k]) for k in long], longest) if long else [], strict=True))
        codes = [made.get(k, code) for k, code in enumerate(codes)]
    return codes


def _formatted(codes: Sequence[str], longest: int) -> list[str]:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in codes])
    asked = [sys.executable, "-m", "ruff", "format", f"--line-length={longest}", "--stdin-filename=page.ipynb", "-"]
    made = subprocess.run(asked, input=nbformat.writes(notebook), capture_output=True, text=True, check=False).stdout
    return [cell.source for cell in nbformat.reads(made, as_version=4).cells] if made else list(codes)


def _shorter_texts(code: str, longest: int) -> str:
    """Return code whose long lines have their texts in pieces, as Ruff leaves texts whole; those of many lines wrap."""
    lines, wrapped = code.splitlines(), set()
    if max(map(len, lines), default=0) <= longest or (before := _meaning(code)) is None:
        return code
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant | ast.JoinedStr) and '"""' in ast.get_source_segment(code, node):
            wrapped |= set(range(node.lineno - 1, node.end_lineno))
    for k, line in enumerate(lines):
        indent = " " * (len(line) - len(line.lstrip()))
        if len(line) <= longest or "#" in line:
            continue
        if k in wrapped:
            lines[k] = textwrap.fill(line, longest, subsequent_indent=indent)
        else:
            room = longest - len(indent) - 12  # for brackets that are one level further in, and quotes
            lines[k] = STRING.sub(lambda found, room=room: _in_pieces(*found.groups(), room), line)
    made = "\n".join(lines)
    return made if _meaning(made) == before else code


def _in_pieces(prefix: str, text: str, room: int) -> str:
    """Return a text of code as at least two of at most `room` characters, if it is not short."""
    pieces = [""]
    for word in WORD.findall(text):
        if pieces[-1] and len(pieces[-1] + word) > min(room, max(len(text) * 2 // 3, 30)):
            pieces.append("")
        pieces[-1] += word
    return " ".join(f'{prefix}"{piece}"' for piece in pieces)


def _meaning(code: str) -> str | None:
    """Return what code does, whatever the spaces of its texts; None if it is no plain Python."""
    try:
        return "".join(ast.dump(ast.parse(code)).replace("\\n", " ").split())
    except SyntaxError:
        return None


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

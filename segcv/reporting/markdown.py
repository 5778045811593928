"""Sections as GitHub-flavoured markdown. Every text is escaped here; no name can become markup."""

from __future__ import annotations

import re
import unicodedata

from segcv.reporting.numbers import cell_text
from segcv.reporting.section import (
    Block,
    Bullets,
    Cell,
    Commands,
    Facts,
    Figure,
    Gallery,
    Headline,
    Paragraph,
    Section,
    Table,
)
from segcv.reporting.sentences import say

SHOWN_NAME = 80         # characters of a name that are shown; files hold all of them
SHOWN_ROWS = 30
_SIGNS = re.compile(r"([\\`*\[\]|~$])|(?<![^\W_])_|_(?![^\W_])")
_BIDI = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}


def escaped(text: str) -> str:
    r"""`text` as markdown that shows exactly these characters, on one line.

    >>> escaped("<b>a|b</b> *x* road_1")
    '&lt;b&gt;a\\|b&lt;/b&gt; \\*x\\* road_1'
    """
    line = "".join(visible(sign) for sign in text)
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = _SIGNS.sub(lambda found: "\\" + found.group(0), line)
    return re.sub(r"^(\s*)([#+-]|\d+(?=[.)]\s))", r"\1\\\2", line)


def page(title: str, sections: tuple[Section, ...]) -> str:
    """A whole markdown page."""
    parts = [f"# {escaped(title)}"]
    for section in sections:
        parts.append(f"## {escaped(section.title)}")
        parts += [_block(block) for block in section.blocks]
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> str:
    if isinstance(block, Paragraph):
        return f"**{escaped(block.text)}**" if block.strong else escaped(block.text)
    if isinstance(block, Headline):
        return f"**{escaped(f'{block.label} {block.value}')}** ({escaped(block.sure)})"
    if isinstance(block, Facts):
        return "\n".join(f"- **{escaped(label)}** {escaped(said)}" for label, said in block.items)
    if isinstance(block, Bullets):
        return "\n".join(f"- {escaped(item)}" for item in block.items)
    if isinstance(block, Commands):
        lines = ["".join(visible(sign) for sign in line) for line in block.lines]
        longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
        fence = "`" * max(3, longest + 1)
        return "\n".join([f"{fence}bash", *lines, fence])
    if isinstance(block, Figure):
        return f"![{escaped(block.alt)}](figures/{block.name}.png)\n\n{escaped(block.title)}"
    if isinstance(block, Gallery):
        return escaped(say("gallery_elsewhere", pictures=len(block.pictures)))
    return _table(block)


def _table(table: Table) -> str:
    lines = [f"**{escaped(table.title)}**", ""] if table.title else []
    lines.append("| " + " | ".join(_short(column) for column in table.columns) + " |")
    lines.append("|" + "|".join(_alignment(table, place) for place in range(len(table.columns))) + "|")
    reasons: dict[str, int] = {}
    for row in table.rows[:SHOWN_ROWS]:
        lines.append("| " + " | ".join(_cell(cell, reasons) for cell in row) + " |")
    under = [f"({number}) {reason}" for reason, number in reasons.items()]
    under += [say("no_interval", why=table.why)] if table.why else []
    if len(table.rows) > SHOWN_ROWS:
        under.append(say("more_rows", shown=SHOWN_ROWS, all=len(table.rows), file=f"tables/{table.name}.csv"))
    return "\n".join(lines) + "".join(f"\n\n{escaped(line)}" for line in under)


def _cell(cell: Cell, reasons: dict[str, int]) -> str:
    shown = _short(cell_text(cell))
    if cell.why and cell.format != "text":
        return f"{shown} ({reasons.setdefault(cell.why, len(reasons) + 1)})"
    return shown


def _short(text: str) -> str:
    if len(text) > SHOWN_NAME:
        text = f"{text[:SHOWN_NAME // 2]}…{text[-SHOWN_NAME // 2 + 1:]}"
    return escaped(text) if text.strip() else escaped(say("blank"))


def _alignment(table: Table, place: int) -> str:
    return "---:" if any(row[place].format != "text" for row in table.rows) else "---"


def visible(sign: str) -> str:
    """The sign as it may be shown: line ends are blanks; control signs and turns of the reading order are hidden."""
    if sign in "\n\r\t":
        return " "
    return "\ufffd" if unicodedata.category(sign) == "Cc" or unicodedata.bidirectional(sign) in _BIDI else sign

"""Sections as one HTML page that needs nothing else: no network, no second file. Every text is escaped here."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from segcv.reporting.figures import rendered
from segcv.reporting.html_gallery import gallery
from segcv.reporting.html_text import shortened_text, text
from segcv.reporting.numbers import cell_text
from segcv.reporting.page_parts import SCRIPT, STYLE
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
from segcv.reporting.sentences import language_code, say

SHOWN_ROWS = 500             # of a table on the page; its file holds all
SHOWN_SIGNS = 120            # of a text in a cell; the pointer shows all of it
TALL_ROWS = 25               # from here on a table scrolls in a box of its own
TALL = 'class="wide tall" tabindex="0"'      # so that the keyboard can scroll it


def html_page(title: str, sections: tuple[Section, ...], *, drawn: Mapping[str, str] | None = None) -> str:
    """A whole page; same sections, same bytes. `drawn` maps names of figures to their SVG, where they are at hand."""
    at_hand = drawn or {}
    links = "".join(f'<a href="#s{number}">{text(section.title)}</a>' for number, section in enumerate(sections))
    parts = [f'<section id="s{number}"><h2>{text(section.title)}</h2>'
             f'{"".join(_block(block, at_hand) for block in section.blocks)}</section>'
             for number, section in enumerate(sections)]
    return (f'<!doctype html>\n<html lang="{language_code()}"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
            "script-src 'unsafe-inline'; img-src data:\">"
            f'<link rel="icon" href="data:,"><title>{text(title)}</title><style>{STYLE}</style></head><body>'
            f'<header><h1>{text(title)}</h1><nav aria-label="{text(say("contents"))}">{links}</nav></header>'
            f'<main>{"".join(parts)}</main><script>{SCRIPT}</script></body></html>\n')


def _block(block: Block, drawn: Mapping[str, str]) -> str:
    if isinstance(block, Paragraph):
        return f'<p class="strong">{text(block.text)}</p>' if block.strong else f"<p>{text(block.text)}</p>"
    if isinstance(block, Headline):
        return (f'<p class="headline"><span>{text(block.label)}</span> <b>{text(block.value)}</b> '
                f"<span>{text(block.sure)}</span></p>")
    if isinstance(block, Facts):
        return ('<dl class="facts">' + "".join(f"<dt>{text(label)}</dt><dd>{text(said)}</dd>"
                                               for label, said in block.items) + "</dl>")
    if isinstance(block, Bullets):
        return "<ul>" + "".join(f"<li>{text(item)}</li>" for item in block.items) + "</ul>"
    if isinstance(block, Commands):
        lines = "\n".join(map(text, block.lines))
        return f"<pre><code>{lines}</code></pre>" if lines else ""
    if isinstance(block, Figure):
        svg = drawn[block.name] if block.name in drawn else rendered(block)[0]
        return (f'<figure role="img" aria-label="{text(block.alt)}"><div class="wide">{svg}</div>'
                f"<figcaption>{text(block.title)}</figcaption></figure>")
    if isinstance(block, Gallery):
        return gallery(block)
    return _table(block)


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col"><button type="button">{shortened_text(name, SHOWN_SIGNS)}</button></th>'
                   for name in table.columns)
    rows = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in table.rows[:SHOWN_ROWS])
    title = f"<caption>{text(table.title)}</caption>" if table.title else ""
    more = (f"<p class=note>{text(say('rows_more', shown=SHOWN_ROWS, all=len(table.rows), name=table.name))}</p>"
            if len(table.rows) > SHOWN_ROWS else "")
    bare = any(cell.format in ("score", "percent") and not cell.has_interval for row in table.rows for cell in row)
    reasons = sorted({cell.why for row in table.rows for cell in row if cell.why and not cell.has_interval})
    why = [table.why] if table.why and bare else []
    note = "".join(f'<p class="note">{text(say("no_interval", why=reason))}</p>' for reason in [*why, *reasons][:6])
    box = TALL if len(table.rows) > TALL_ROWS else 'class="wide"'
    return (f"<div {box}><table>{title}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
            f"{more}{note}")


def _cell(cell: Cell) -> str:
    if isinstance(cell.value, str):
        whole = f' title="{text(cell.value)}"' if len(cell.value) > SHOWN_SIGNS else ""
        return f"<td{whole}>{shortened_text(cell.value, SHOWN_SIGNS)}</td>"
    key = f' data-v="{cell.value!r}"' if isfinite(cell.value) else ""
    return f'<td class="n"{key}>{text(cell_text(cell))}</td>'

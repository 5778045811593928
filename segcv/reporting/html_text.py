"""Texts as HTML: every name passes here, and none can become markup."""

from __future__ import annotations

from html import escape

from segcv.reporting.markdown import visible
from segcv.reporting.sentences import say


def text(value: str) -> str:
    """The text as HTML that shows exactly its characters; those that turn the reading order are shown by name."""
    return escape("".join(visible(sign) for sign in value), quote=True)


def shortened_text(name: str, length: int = 40) -> str:
    """A name that fits a menu or a caption, as HTML; a blank one is said to be blank."""
    shown = name if name.strip() else say("blank")
    return text(shown if len(shown) <= length else f"{shown[:length // 2]}…{shown[-length // 2 + 1:]}")

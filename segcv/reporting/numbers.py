"""How numbers are written: undefined as n/a, never 0; an interval beside its value."""

from __future__ import annotations

from math import isfinite

from segcv.reporting.section import Cell
from segcv.statistics import Estimate

UNDEFINED = "n/a"
DIGITS = 3


def score_text(value: float) -> str:
    """A score with three digits.

    >>> score_text(0.7), score_text(float("nan"))
    ('0.700', 'n/a')
    """
    return f"{value:.{DIGITS}f}" if isfinite(value) else UNDEFINED


def percent_text(value: float) -> str:
    """A share in percent.

    >>> percent_text(0.257)
    '25.7 %'
    """
    return f"{100 * value:.1f} %" if isfinite(value) else UNDEFINED


def number_text(value: float) -> str:
    """A plain number with at most four digits after the point, whole ones without; a tiny one is not called 0.

    >>> number_text(3.0), number_text(0.12345), number_text(0.00000123)
    ('3', '0.1235', '1e-06')
    """
    if not isfinite(value):
        return UNDEFINED
    if 0 < abs(value) < 0.00005:
        return f"{value:.0e}"
    return str(int(value)) if value == int(value) else f"{value:.4f}".rstrip("0").rstrip(".")


def estimate_text(value: Estimate, *, level: bool = True) -> str:
    """Value and interval in words, or the value and why it has none."""
    said = score_text(value.value)
    if not value.has_interval:
        return f"{said} (no interval: {value.note})"
    sure = f", {100 * value.level:.0f} %" if level else ""
    return f"{said} ({score_text(value.low)} to {score_text(value.high)}{sure})"


def cell_text(cell: Cell) -> str:
    """What a table shows for a cell; its reason is not part of it."""
    if isinstance(cell.value, str):
        return cell.value
    if cell.format == "percent":
        interval = f" ({percent_text(cell.low)} to {percent_text(cell.high)})" if cell.has_interval else ""
        return percent_text(cell.value) + interval
    if cell.format == "number" and cell.has_interval:
        return f"{number_text(cell.value)} ({number_text(cell.low)} to {number_text(cell.high)})"
    if cell.format == "score":
        interval = f" ({score_text(cell.low)} to {score_text(cell.high)})" if cell.has_interval else ""
        return score_text(cell.value) + interval
    return number_text(cell.value)

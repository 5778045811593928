"""What a part of a report says, free of format and language: paragraphs, lists, commands and tables of typed cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any, Literal

import pandas as pd

from segcv.statistics import Estimate

Format = Literal["text", "count", "score", "percent", "number"]
STATISTICAL = ("score", "percent")       # numbers that owe an interval or a reason


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a table: a text, or a number with its format, its interval and, without one, the reason."""

    value: str | float
    format: Format = "text"
    low: float = nan
    high: float = nan
    why: str = ""

    @property
    def has_interval(self) -> bool:
        """Whether both ends are finite."""
        return isfinite(self.low) and isfinite(self.high)


def text(value: object) -> Cell:
    """A cell that holds words or a name."""
    return Cell(str(value))


def count(value: float) -> Cell:
    """A cell that holds an exact number of things."""
    return Cell(float(value), "count")


def score(value: float, why: str = "") -> Cell:
    """A cell that holds a score without interval, for the reason `why`, or the one its table gives."""
    return Cell(float(value), "score", why=why)


def percent(value: float, why: str = "") -> Cell:
    """A cell that holds a share in [0, 1], shown in percent."""
    return Cell(float(value), "percent", why=why)


def number(value: float) -> Cell:
    """A cell that holds a plain number that describes the data or the method, not a result."""
    return Cell(float(value), "number")


def estimate(value: Estimate) -> Cell:
    """A cell that holds an Estimate: its interval, or its reason."""
    return Cell(value.value, "score", value.low, value.high, "" if value.has_interval else value.note)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under named columns; `name` is its file name. `why` says why its bare scores have no interval.

    Raises:
        ValueError: a row is too short or long, or a score has neither an interval nor a reason.
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    why: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.name}: a row of {len(row)} cells under {len(self.columns)} columns")
            bare = [cell for cell in row if cell.format in STATISTICAL and not cell.has_interval and not cell.why]
            if bare and not self.why:
                raise ValueError(f"table {self.name}: {bare[0].value} has no interval and no reason")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences; `strong` ones are marks that must not be missed."""

    text: str
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of short texts."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Headline:
    """The one number of a report: what it is called, its value, and its interval or why there is none."""

    label: str
    value: str
    sure: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Sentences under the questions that they answer."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Commands:
    """Lines to type."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """A picture of numbers: `draw` puts it into a matplotlib Axes' figure; `data` are the numbers it shows.

    `alt` says in words what is to be seen, for those who do not see it.
    """

    name: str
    title: str
    alt: str
    data: pd.DataFrame
    draw: Callable[[Any], None]          # takes an empty matplotlib Figure
    width: float = 7.0                   # inches
    height: float = 3.2


@dataclass(frozen=True, slots=True)
class Picture:
    """One scored image for the gallery: small pictures as bytes of PNG, JPEG or WebP, and what is known of it.

    `why` holds the reasons to show it: `worst fold`, `median group`, `best class road`, `suspicious`, `changed`.
    `panels` are named image, truth, prediction, errors, difference, or as what they show is called.
    """

    image_id: str
    group: str
    fold: str
    classes: tuple[str, ...]             # in its truth or its prediction
    score: float
    why: tuple[str, ...]
    panels: tuple[tuple[str, bytes], ...]
    scores: tuple[float, ...] = ()       # of its classes, in their order
    said: str = ""                       # anything else to know


@dataclass(frozen=True, slots=True)
class Gallery:
    """Pictures that a reader filters by class, group, fold and reason, with the colours of the classes."""

    name: str
    pictures: tuple[Picture, ...]
    legend: tuple[tuple[str, str], ...] = ()     # name, #rrggbb


Block = Paragraph | Headline | Facts | Bullets | Commands | Table | Figure | Gallery


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a report."""

    title: str
    blocks: tuple[Block, ...]

    @property
    def tables(self) -> tuple[Table, ...]:
        """Its tables, in order."""
        return tuple(block for block in self.blocks if isinstance(block, Table))

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Its figures, in order."""
        return tuple(block for block in self.blocks if isinstance(block, Figure))

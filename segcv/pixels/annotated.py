"""What annotation files say, whatever their format: pictures, and regions with labels in them."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from segcv.pixels.drawing import Drawn
from segcv.pixels.files import Fault, read_bytes

Draw = Callable[[int, int], Drawn]       # height, width of the picture -> the region's pixels; raises Fault


@dataclass(frozen=True, slots=True)
class Region:
    """One labelled region of a picture."""

    label: str
    draw: Draw
    where: str                           # how messages call it: "annotation 17"
    crowd: bool = False                  # COCO's iscrowd: one region around many objects


@dataclass(frozen=True, slots=True)
class AnnotatedPicture:
    """One picture and its regions, in the order in which they are drawn."""

    name: str                            # the picture's path, as the file gives it
    height: int | None
    width: int | None
    regions: tuple[Region, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the name, without suffix, "." and "..", written in one Unicode form."""
        pure = PurePosixPath(unicodedata.normalize("NFC", self.name.replace("\\", "/")))
        return tuple(part for part in pure.with_suffix("").parts if part not in ("/", "..") and not part.endswith(":"))


def read_json_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file; raises Fault."""
    try:
        found = json.loads(read_bytes(path).decode("utf-8-sig"))
    except ValueError as error:
        raise Fault(f"is no JSON file ({error})", "Export the annotations again.") from error
    if not isinstance(found, dict):
        raise Fault(f"holds a {type(found).__name__} and not an object", "Export the annotations again.")
    return found


def entry(record: Any, name: str, kind: type | tuple[type, ...], where: str) -> Any:
    """What `record` holds under `name`; raises Fault when it is missing or of another kind."""
    found = record.get(name) if isinstance(record, dict) else None
    if not isinstance(found, kind) or isinstance(found, bool):
        raise Fault(f"{where} has {'no ' + name if found is None else f'the {name} {str(found)[:40]!r}'}",
                    "Is it another format? Export the annotations again.")
    return found


def drawn_by(where: str, draw: Draw) -> Draw:
    """`draw`, whose faults say where they are."""
    def checked(height: int, width: int) -> Drawn:
        try:
            return draw(height, width)
        except Fault as fault:
            raise Fault(f"{where} {fault.found}", fault.cure) from fault.__cause__
    return checked

"""What the labels of annotation files mean, and what counts where regions meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ConfigError
from segcv.pixels.annotated import AnnotatedPicture, Region
from segcv.pixels.annotated_coco import read_coco
from segcv.pixels.annotated_cvat import read_cvat
from segcv.pixels.annotated_labelme import read_labelme
from segcv.pixels.drawing import Drawn
from segcv.pixels.files import Fault
from segcv.pixels.labels import LabelMap

_READERS: dict[str, Callable[[Path], list[AnnotatedPicture]]] = {
    "coco": read_coco, "labelme": read_labelme, "cvat": read_cvat,
}
SUFFIXES = {"coco": ".json", "labelme": ".json", "cvat": ".xml"}
ONE_PICTURE_A_FILE = "labelme"           # its files are named like their pictures
OVERLAPS = ("later", "smaller", "refuse")
CROWDS = ("class", "ignore")
IGNORE = "ignore"                        # what a label may mean instead of a class
_BACKGROUNDS = ("background", "_background_", "__background__")
_LARGEST = 65_535                        # value of a mask
_IGNORED_WORDS = ("__ignore__",)         # LabelMe's


@dataclass(frozen=True, slots=True)
class AnnotationRules:
    """Labels to class ids, and which region counts where several lie. Made by `annotation_rules`.

    `overlap`: "later" in the file (or higher in CVAT's z_order) counts, or the "smaller" region, or different classes
    on one pixel are refused. `crowd`: COCO's crowd regions count as their class, or as ignored where
    nothing else is.
    """

    format: str
    labels: LabelMap
    meaning: Mapping[str, int]           # label -> class id, or `_ignored`
    outside: int                         # class id, or `_ignored`, of pixels in no region
    overlap: str
    crowd: str

    def class_of(self, region: Region) -> int | None:
        """Class id of a region, -1 when it is to be ignored, None when its label is not declared."""
        if region.crowd and self.crowd == IGNORE:
            return -1
        return self.meaning.get(region.label)

    def to_json(self) -> dict[str, Any]:
        """The rules as plain data, for records and fingerprints; -1 is ignored."""
        return {"format": self.format, "labels": self.labels.to_json(), "meaning": dict(sorted(self.meaning.items())),
                "outside": self.outside, "overlap": self.overlap, "crowd": self.crowd}


@dataclass(frozen=True, slots=True, eq=False)
class DrawnPicture:
    """The mask of one picture, as class ids and the ignore value, and what happened on the way."""

    mask: NDArray[Any]                   # H x W
    regions: int
    crowds: int
    empty: tuple[str, ...]               # regions without a pixel
    overlapped: int                      # pixels that regions of different classes claim

    def without_mask(self) -> DrawnPicture:
        """The same, its mask let go."""
        return replace(self, mask=self.mask[:0])


def annotation_rules(labels: LabelMap, *, format: str, mapping: Mapping[Any, Any] | None = None,
                     outside: str | None = None, overlap: str = "later", crowd: str = "class") -> AnnotationRules:
    """The rules that settings declare. `mapping` gives labels that are not class names their class name, or "ignore".

    Pixels in no region are of the class `outside` (or "ignore"); None takes the class called background.

    Raises:
        ConfigError: a setting is unknown or has no effect, or there is no class background and `outside` is not given.
    """
    reader(format)
    for name, value, known in (("overlap", overlap, OVERLAPS), ("crowd", crowd, CROWDS)):
        if value not in known:
            raise ConfigError(f"data.annotations.{name}={value} is not known; use {', '.join(known)}.")
    if crowd != "class" and format != "coco":
        raise ConfigError(f"data.annotations.crowd={crowd} has an effect with COCO files only.")
    if labels.values is not None or labels.colors is not None:
        raise ConfigError("data.values and data.colors say what mask files hold, and have no effect on annotations: "
                          "use data.annotations.labels={label: class} for their labels.")
    ids = {name: c for c, name in enumerate(labels.names)}
    meaning = dict(ids) if labels.ignore is None else ids | dict.fromkeys(_IGNORED_WORDS, -1)
    if mapping is not None and not isinstance(mapping, Mapping):
        raise ConfigError(f"data.annotations.labels={mapping} is no mapping. Write it like "
                          "'data.annotations.labels={person: pedestrian, unsure: ignore}'")
    for label, name in (mapping or {}).items():
        meaning[str(label)] = _class_id(f"data.annotations.labels maps {label!r} to", str(name), ids)
    background = [name for name in labels.names if name.lower() in _BACKGROUNDS]
    if outside is None and not background:
        raise ConfigError(f"no class is called background ({', '.join(labels.names)}), so it is not clear what the "
                          "pixels outside all regions are. Say so: data.annotations.outside=CLASS, or "
                          "data.annotations.outside=ignore")
    left = _class_id("data.annotations.outside is", outside if outside is not None else background[0], ids)
    for word in _BACKGROUNDS:
        meaning.setdefault(word, left)
    ignores = crowd == IGNORE or -1 in (left, *(meaning[str(label)] for label in mapping or {}))
    if ignores and labels.ignore is None:
        raise ConfigError("something is to be ignored, and data.ignore=null leaves no value for it. "
                          "Set data.ignore=255")
    if labels.ignore is not None and not 0 <= labels.ignore <= _LARGEST:
        raise ConfigError(f"data.ignore={labels.ignore} cannot be written to masks of 16 bits. Use 0..{_LARGEST}")
    return AnnotationRules(format, labels, meaning, left, overlap, crowd)


def reader(format: str) -> Callable[[Path], list[AnnotatedPicture]]:
    """The function that reads files of a format, raising Fault; ConfigError when there is none."""
    if format not in _READERS:
        raise ConfigError(f"data.annotations.format={format} is not known; use {', '.join(_READERS)}.")
    return _READERS[format]


def draw_picture(picture: AnnotatedPicture, rules: AnnotationRules, *, height: int, width: int) -> DrawnPicture:
    """The mask of a picture of this size; raises Fault for regions that cannot be drawn, or must not overlap."""
    drawn = [(region, rules.class_of(region), region.draw(height, width)) for region in picture.regions]
    mask = np.full((height, width), _stored(rules.outside, rules), _kind(rules.labels))
    claimed = np.zeros((height, width), bool)
    overlapped = np.zeros((height, width), bool)
    for region, class_id, one in _in_order(drawn, rules):
        assert class_id is not None
        value = _stored(class_id, rules)
        window = (one.rows, one.columns)
        other = one.inside & claimed[window] & (mask[window] != value)
        if rules.overlap == "refuse" and other.any():
            raise Fault(f"{region.where} lies on regions of another class in {int(other.sum())} pixels",
                        "Correct it, or say which counts: data.annotations.overlap=later (in the file), or smaller.")
        overlapped[window] |= other
        mask[window][one.inside] = value
        claimed[window] |= one.inside
    return DrawnPicture(mask, len(drawn), sum(region.crowd for region in picture.regions),
                        tuple(region.where for region, _, one in drawn if not one.inside.any()),
                        int(overlapped.sum()))


def undeclared(label: str, rules: AnnotationRules) -> str:
    """What to do about a label that is not declared."""
    near = get_close_matches(label, rules.labels.names, n=1, cutoff=0.6)
    target = near[0] if near else IGNORE
    return (f"Declare it in data.classes (now {', '.join(rules.labels.names)}), or say what it means: "
            f"'data.annotations.labels={{{label}: {target}}}'")


def _in_order(drawn: list[tuple[Region, int | None, Drawn]],
              rules: AnnotationRules) -> list[tuple[Region, int | None, Drawn]]:
    if rules.overlap == "smaller":
        drawn = sorted(drawn, key=lambda row: -int(row[2].inside.sum()))
    if rules.crowd == IGNORE:                                                # beneath everything else
        drawn = sorted(drawn, key=lambda row: not row[0].crowd)
    return drawn


def _class_id(what: str, name: str, ids: Mapping[str, int]) -> int:
    if name not in ids and name != IGNORE:
        raise ConfigError(f"{what} {name!r}, which is no class. Use one of {', '.join(ids)}, or ignore.")
    return ids.get(name, -1)


def _kind(labels: LabelMap) -> type[np.uint8] | type[np.uint16]:
    return np.uint8 if max(labels.n_classes - 1, labels.ignore or 0) <= 255 else np.uint16


def _stored(class_id: int, rules: AnnotationRules) -> int:
    if class_id >= 0:
        return class_id
    assert rules.labels.ignore is not None
    return rules.labels.ignore

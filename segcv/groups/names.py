"""Groups that are written in the file names: tiles of one scene, copies of one picture, frames of one clip."""

from __future__ import annotations

import re
import warnings

import pandas as pd

from segcv.errors import GroupError, SegcvWarning

SHOWN = 3
FIELDS = ("group", "strip", "source")      # a pattern's named fields that make a group, the coarsest first

_TILE = (r"x-?\d+[_-]?y-?\d+|y-?\d+[_-]?x-?\d+|r(?:ow)?[_-]?\d+[_-]?c(?:ol)?[_-]?\d+|"
         r"c(?:ol)?[_-]?\d+[_-]?r(?:ow)?[_-]?\d+|(?:tile|patch)[_-]?\d+(?:[_-]\d+)?")
_COPY = (r"(?:h|v|hor|ver|horizontal|vertical)?[_-]?flip(?:ped|lr|ud)?|mirror(?:ed)?|rot(?:ate|ated|ation)?[_-]?\d*|"
         r"transposed?|aug(?:mented|mentation)?[_-]?\d*|copy[_-]?\d*|bright\w*|dark\w*|contrast\w*|blur\w*|nois\w*|"
         r"gamma\w*|h|v|lr|ud")

NAME_PATTERNS: dict[str, str] = {      # read without regard to upper and lower case
    "tiles": rf"^(?P<source>.*?)[_-](?:{_TILE})(?:[_-](?:w|h|s|size)?\d+)*$",      # scene_x512_y1024, scene_r03_c07
    "augmented": rf"^(?P<source>.+?)(?:[_-](?:{_COPY}))+$",                        # cell_flip, cell_rot90, cell_aug1
    "roboflow": r"^(?P<source>.+?)_(?:jpe?g|png|bmp|tiff?|webp)\.rf\.[0-9a-z]{20,}$",      # IMG_1_jpg.rf.<32 hex>
    "numbered": r"^(?P<source>.*?)[_-]?\d+[_-]\d+$",                               # site_3_07, clip_0001_0042
    "frames": r"^(?P<source>.*?)[_-]?(?:frame|frm|img|image|f)?[_-]?(?P<frame>\d+)$",      # clip21_frame_0003
}

PLACES = frozenset({"images", "image", "imgs", "img", "train", "training", "trainval", "val", "valid", "validation",
                     "test", "testing"})      # folders that sort images and say nothing of where they come from


def name_groups(image_ids: pd.Series, pattern: str) -> pd.Series:
    """The group that each image's name tells, "" where it tells none; same index as `image_ids`.

    `pattern` is a key of NAME_PATTERNS or a regular expression with a named field group, strip or source, or one
    unnamed group. A ready pattern reads the whole image id, without folders that only sort (images, train, val, ...);
    an expression is searched in the last part of the id, or in the whole id when it contains a '/'. An image whose
    whole name is a group's name (the original beside its copies) belongs to that group.

    Raises:
        GroupError: the expression is faulty or has no field to take, or no name matches.

    >>> name_groups(pd.Series(["images/cell0_flip", "images/cell0", "images/cell1"]), "augmented").tolist()
    ['cell0', 'cell0', '']
    """
    compiled, field = _compiled(pattern)
    if pattern in NAME_PATTERNS:
        names = image_ids.map(_without_places)
    elif "/" in pattern:
        names = image_ids
    else:
        names = image_ids.map(lambda image_id: image_id.rsplit("/", 1)[-1])
    matches = names.map(compiled.search)
    found = matches.map(lambda match: (match.group(field) or "").strip("/_- ") if match else "").astype(object)
    if len(image_ids) and not found.ne("").any():
        raise GroupError(f"group.pattern={pattern!r} matches none of {len(image_ids)} names, such as "
                         f"{', '.join(names.iloc[:SHOWN])}. Ready patterns: {', '.join(NAME_PATTERNS)}; or write an "
                         "expression such as '^(?P<group>[A-Za-z]+)_'.")
    originals = found.eq("") & names.isin(set(found))
    return found.where(~originals, names)


def warn_unmatched(image_ids: pd.Series, found: pd.Series, pattern: str) -> None:
    """Say how many names the pattern did not match, with examples."""
    missed = image_ids[found.eq("")]
    if len(missed):
        warnings.warn(f"group.pattern={pattern!r} matches {len(image_ids) - len(missed)} of {len(image_ids)} names; "
                      f"not, for example, {', '.join(missed.sort_values().iloc[:SHOWN])}. Those are grouped by what "
                      "they look like, or stand alone.", SegcvWarning, stacklevel=4)


def _compiled(pattern: str) -> tuple[re.Pattern[str], str | int]:
    try:
        compiled = re.compile(NAME_PATTERNS.get(pattern, pattern), re.IGNORECASE if pattern in NAME_PATTERNS else 0)
    except re.error as error:
        raise GroupError(f"group.pattern={pattern!r} is not a regular expression ({error}) and not a ready pattern "
                         f"({', '.join(NAME_PATTERNS)}).") from error
    named = [field for field in FIELDS if field in compiled.groupindex]
    if named:
        return compiled, named[0]
    if compiled.groups == 1 and not compiled.groupindex:
        return compiled, 1
    raise GroupError(f"group.pattern={pattern!r} does not say which part names the group: write it as "
                     "(?P<group>...), or as the only pair of brackets. "
                     f"Ready patterns: {', '.join(NAME_PATTERNS)}.")


def _without_places(image_id: str) -> str:
    *folders, name = image_id.split("/")
    return "/".join([part for part in folders if part.lower() not in PLACES] + [name])

"""Who belongs together: what is given, then what names tell, then what looks alike; the evidence stays with the row."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd

from segcv.errors import GroupError, SegcvWarning
from segcv.groups.chains import warn_chains
from segcv.groups.given import free_name, given_labels, joined_name
from segcv.groups.joining import Joined, Link, join
from segcv.groups.links import OVERLAP, links_between
from segcv.tables import IMAGES

SHOWN = 5
ASK, JOIN, APART = "ask", "join", "apart"      # what becomes of look-alikes whose groups would be too large together


def assign_groups(images: pd.DataFrame, looks: pd.DataFrame | None, *, pattern: str | None, max_distance: int | None,
                  turns: bool = True, overlaps: str | None = None, ground: pd.DataFrame | None = None,
                  levels: Sequence[str] = (), large_joins: str = ASK, folds: int) -> pd.DataFrame:
    """The images table with group_id filled in every row and group_evidence saying why; rows in their order.

    In this order: the given group_id ("column"); the file name by `pattern` ("name: ..."), see `name_groups`; the
    source_id, for patches ("source_id"); the id columns `levels`, fine to coarse, of which every value stays in one
    group ("patient_id"); verified look-alikes within `max_distance` bits ("near-duplicate of ..."), with `turns` also
    flipped and turned ones; shared ground ("overlap with ..."): by `overlaps`, "blocks" of equal pixels or also
    "landmarks", see `overlapping_pairs`, and by `ground`, pairs (first, second, share) of rectangles that overlap,
    unless a chain of them is above 1 / `folds` of the rows: that is for splitters that cut ground into blocks;
    else the image is a group of its own, named by its image_id ("alone"). `looks` comes from the room pixels; None
    with max_distance=None and overlaps=None leaves looks out. Ids are text: "007", "07" and "NA" are three groups, ""
    is none.

    A row without group takes the group of its nearest look-alike. Two given groups that hold identical images or share
    ground are joined, and warned with the pairs. Look-alikes join two given groups only while the joined group has at
    most 1 / `folds` of the rows; beyond that `large_joins` decides: "ask" refuses, "join" joins, "apart" leaves them
    apart and warns. Chains among images without group are kept and warned when they are wider than `max_distance`.
    Flat images are counted and never joined.

    Raises:
        GroupError: ids differ by blanks only, the pattern fits nothing, a source lies in two groups with rows left
            open, a level is no column, `looks` lacks an image, or look-alikes ask for a group that is too large.
    """
    if large_joins not in (ASK, JOIN, APART):
        raise GroupError(f"group.large_joins={large_joins} is not known; use {ASK}, {JOIN} or {APART}.")
    table = IMAGES.check(images, where="images table")
    order = np.argsort(table["image_id"].to_numpy(dtype=object), kind="stable")
    rows = table.iloc[order].reset_index(drop=True)            # by image_id: the order of rows has no influence
    ids: list[str] = rows["image_id"].tolist()
    labels, evidence = given_labels(rows, pattern, levels)
    largest = np.inf if large_joins == JOIN else len(rows) / folds
    links = links_between(rows, looks, labels=labels, max_distance=max_distance, turns=turns, overlaps=overlaps,
                          ground=ground, largest=largest)
    found = join(ids, labels, links, largest=largest)
    _say_joined(found, folds, len(rows), large_joins)
    if looks is not None and max_distance is not None:
        warn_chains(found, ids, looks, max_distance)
    names = _group_names(found, ids, set(labels))
    for row, label in enumerate(labels):
        if not label:
            evidence[row] = found.evidence[row] or "alone"
        elif names[row] != label:
            others = " and ".join(name for name in found.names[row] if name != label)
            evidence[row] += f"; joined with {others} by {_by(found, row)}"
    filled = table.copy()
    back = np.argsort(order)                                   # place in `rows` of each row of the table
    filled["group_id"] = pd.Series([names[row] for row in back], dtype="str")
    filled["group_evidence"] = pd.Series([evidence[row] for row in back], dtype="str")
    return IMAGES.check(filled, where="images table with groups")


def _say_joined(found: Joined, folds: int, n_rows: int, large_joins: str) -> None:
    alike = [link for link in found.joined if link.kind != OVERLAP]
    on_ground = [link for link in found.joined if link.kind == OVERLAP]
    if alike:
        warnings.warn(f"groups joined, because they hold identical or look-alike images: {_some(alike)}. "
                      "If they are independent all the same, take the pictures out or set group.near_duplicates=null.",
                      SegcvWarning, stacklevel=3)
    if on_ground:
        warnings.warn(f"groups joined, because their images overlap: {_some(on_ground)}. Held out apart, the score "
                      "would be on ground seen in training. If one is to be held out all the same, set "
                      "group.overlaps=null.", SegcvWarning, stacklevel=3)
    if not found.kept_apart:
        return
    what = (f"{_some(found.kept_apart)}. Joined they would be more than 1/{folds} of the {n_rows} images. If they "
            "belong together, ")
    if large_joins == ASK:
        raise GroupError(f"given groups hold look-alike images: {what}type group.large_joins=join; if they are "
                         "different all the same, type group.large_joins=apart (each is kept, and this is noted).")
    warnings.warn(f"groups with look-alike images stay apart: {what}give them one group_id; if not, set "
                  "group.near_duplicates=null.", SegcvWarning, stacklevel=3)


def _by(found: Joined, row: int) -> str:
    """Which kinds of links tie the given groups in this row's component."""
    kinds = {link.kind == OVERLAP for link in found.joined if link.groups[0] in found.names[row]}
    return " and ".join(name for name, is_ground in (("look-alikes", False), ("shared ground", True))
                        if is_ground in kinds)


def _group_names(found: Joined, ids: list[str], given: set[str]) -> list[str]:
    """Name per row: of the given group, of the joined ones, or the least image id of a cluster."""
    name_of: dict[int, str] = {}
    used = set(given)
    for row, root in enumerate(found.component):
        if root in name_of:
            continue
        names = found.names[row]
        if len(names) == 1:
            name_of[root] = names[0]
        elif names:
            name_of[root] = free_name(joined_name(names), used, "joined ")
        else:
            name_of[root] = free_name(ids[row], used, "image ")
        used.add(name_of[root])
    return [name_of[root] for root in found.component]


def _some(items: Sequence[Link]) -> str:
    more = f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
    return ", ".join(map(str, items[:SHOWN])) + more

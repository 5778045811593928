"""Who belongs together: what is given, then what names tell, then what looks alike; the evidence stays with the row."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.errors import GroupError, SegcvWarning
from segcv.groups.hamming import diameter
from segcv.groups.joining import Joined, Link, join
from segcv.groups.looks import near_duplicate_pairs
from segcv.groups.names import name_groups, warn_unmatched
from segcv.groups.turns import SIDE, turned_hashes
from segcv.tables import IMAGES

SHOWN = 5


def assign_groups(images: pd.DataFrame, looks: pd.DataFrame | None, *, pattern: str | None, max_distance: int | None,
                  turns: bool = True, folds: int) -> pd.DataFrame:
    """The images table with group_id filled in every row and group_evidence saying why; rows in their order.

    In this order: the given group_id ("column"); the file name by `pattern` ("name: ..."), see `name_groups`; the
    source_id, for patches ("source_id"); verified look-alikes within `max_distance` bits ("near-duplicate of ..."),
    with `turns` also flipped and turned ones; else the image is a group of its own, named by its image_id ("alone").
    `looks` comes from the room pixels; None with max_distance=None leaves look-alikes out. Ids are text: "007", "07"
    and "NA" are three groups, "" is none.

    A row without group takes the group of its nearest look-alike. Two given groups that hold identical images are
    joined and warned. Look-alikes join two given groups only while the joined group has at most 1 / `folds` of the
    rows; beyond that they stay apart, which is warned with the pairs. Chains among images without group are kept and
    warned when they are wider than `max_distance`. Flat images are counted and never joined.

    Raises:
        GroupError: ids differ by blanks only, the pattern fits nothing, a source lies in two groups with rows left
            open, or `looks` lacks an image.
    """
    table = IMAGES.check(images, where="images table")
    order = np.argsort(table["image_id"].to_numpy(dtype=object), kind="stable")
    rows = table.iloc[order].reset_index(drop=True)            # by image_id: the order of rows has no influence
    ids: list[str] = rows["image_id"].tolist()
    labels, evidence = _named_groups(rows, pattern)
    pairs = _pairs(rows, looks, max_distance, turns)
    found = join(ids, labels, pairs, largest=len(rows) / folds)
    _warn_joined(found, folds, len(rows))
    if looks is not None and max_distance is not None:
        _warn_chains(found, ids, looks, max_distance)
    names = _group_names(found, ids, set(labels))
    for row, label in enumerate(labels):
        partner = found.partner[row]
        if not label:
            evidence[row] = partner or "alone"
        elif names[row] != label:
            others = " and ".join(name for name in found.names[row] if name != label)
            evidence[row] += f"; joined with {others} by look-alikes"
    filled = table.copy()
    back = np.argsort(order)                                   # place in `rows` of each row of the table
    filled["group_id"] = pd.Series([names[row] for row in back], dtype="str")
    filled["group_evidence"] = pd.Series([evidence[row] for row in back], dtype="str")
    return IMAGES.check(filled, where="images table with groups")


def _named_groups(rows: pd.DataFrame, pattern: str | None) -> tuple[list[str], list[str]]:
    """Group per row from the column, the name or the source ("" for none), and the evidence for it."""
    group = _text(rows, "group_id")
    _refuse_blank_twins(group)
    evidence = pd.Series("", index=rows.index, dtype=object).mask(group.ne(""), "column")
    if pattern is not None:
        told = name_groups(rows["image_id"], pattern)
        warn_unmatched(rows["image_id"][group.eq("")], told[group.eq("")], pattern)
        takes = group.eq("") & told.ne("")
        group, evidence = group.mask(takes, told), evidence.mask(takes, f"name: {pattern}")
    source = _text(rows, "source_id")
    groups_of = {name: sorted(set(of) - {""}) for name, of in group[source.ne("")].groupby(source) if name}
    torn = {name: of for name, of in groups_of.items() if len(of) > 1}
    undecided = group.eq("") & source.isin(set(torn))
    if undecided.any():
        name = source[undecided].iloc[0]
        raise GroupError(f"source_id {name} has images in the groups {' and '.join(torn[name][:SHOWN])}, and "
                         f"{int((undecided & source.eq(name)).sum())} without group_id "
                         f"({rows['image_id'][undecided].iloc[0]}). Give those a group_id.")
    if torn:
        name = min(torn)
        warnings.warn(f"source_id {name} has images in the groups {' and '.join(torn[name][:SHOWN])} ({len(torn)} such "
                      "sources): patches of one source may be trained on and held out. Give all images of a source "
                      "one group_id.", SegcvWarning, stacklevel=3)
    takes = group.eq("") & source.ne("")
    used = set(group) - {""}
    own = {name: of[0] if of else _free(name, used, "source ") for name, of in groups_of.items()}
    return (group.mask(takes, source.map(own)).tolist(), evidence.mask(takes, "source_id").tolist())


def _text(rows: pd.DataFrame, column: str) -> pd.Series:
    if column not in rows.columns:
        return pd.Series("", index=rows.index, dtype=object)
    return rows[column].astype(object).mask(rows[column].str.strip().eq(""), "")


def _refuse_blank_twins(group: pd.Series) -> None:
    distinct = pd.Series(group.unique(), dtype=object)
    twins = distinct[distinct.str.strip().duplicated(keep=False)]
    if len(twins):
        alike = sorted(twins[twins.str.strip() == twins.iloc[0].strip()])
        raise GroupError(f"group_id {' and '.join(map(repr, alike))} differ by blanks only. Write them alike.")


def _pairs(rows: pd.DataFrame, looks: pd.DataFrame | None, max_distance: int | None, turns: bool) -> pd.DataFrame:
    if looks is None or max_distance is None:
        if looks is None and max_distance is not None:
            raise GroupError(f"max_distance={max_distance} needs the looks of the images; use max_distance=None "
                             "to leave look-alikes out.")
        return pd.DataFrame({"first": [], "second": [], "distance": [], "turn": [], "identical": []})
    missing = rows.loc[~rows["image_id"].isin(looks["image_id"]), "image_id"]
    if len(missing):
        raise GroupError(f"{len(missing)} of {len(rows)} images have no looks, such as {missing.iloc[0]}.")
    mine = looks[looks["image_id"].isin(rows["image_id"])]
    flat = int(mine["flat"].sum())
    if flat:
        names = sorted(mine.loc[mine["flat"].astype(bool), "image_id"])
        warnings.warn(f"{flat} flat (blank) images have no content to compare and are not joined by their looks: "
                      f"{_some(names)}.", SegcvWarning, stacklevel=3)
    return near_duplicate_pairs(mine, max_distance=max_distance, turns=turns)


def _warn_joined(found: Joined, folds: int, n_rows: int) -> None:
    if found.joined:
        warnings.warn(f"groups joined, because they hold identical or look-alike images: {_some(found.joined)}. "
                      "If they are independent all the same, take the pictures out or set group.near_duplicates=null.",
                      SegcvWarning, stacklevel=3)
    if found.kept_apart:
        warnings.warn(f"groups with look-alike images stay apart: {_some(found.kept_apart)}. Joined they would be more "
                      f"than 1/{folds} of the {n_rows} images. If they belong together, give them one group_id; if "
                      "not, set group.near_duplicates=null.", SegcvWarning, stacklevel=3)


def _warn_chains(found: Joined, ids: list[str], looks: pd.DataFrame, max_distance: int) -> None:
    look_of = looks.set_index("image_id")
    members: dict[int, list[int]] = defaultdict(list)
    for row, root in enumerate(found.component):
        if found.partner[row] and not found.names[row]:
            members[root].append(row)
    chains = []
    for rows in members.values():
        bits, one, other = diameter(_same_way_up(look_of.loc[[ids[row] for row in rows]],
                                                 any(found.turned[row] for row in rows)))
        if bits > max_distance:
            chains.append((bits, f"{len(rows)} images from {ids[rows[one]]} to {ids[rows[other]]} "
                                 f"(diameter {bits} bits)"))
    if chains:
        chains.sort(key=lambda chain: (-chain[0], chain[1]))
        warnings.warn(f"look-alikes form chains wider than the threshold of {max_distance} bits: "
                      f"{_some([text for _, text in chains])}. Each is kept as one group; if they are different "
                      f"scenes, lower group.near_duplicates={max_distance}.", SegcvWarning, stacklevel=3)


def _same_way_up(looks: pd.DataFrame, turned: bool) -> NDArray[np.uint64]:
    """Hashes of a cluster; where copies were turned, each in the turn in which it is nearest to the first."""
    hashes = looks["phash"].to_numpy(np.uint64)
    if not turned:
        return hashes
    thumbnails = np.frombuffer(b"".join(looks["thumbnail"]), np.uint8).reshape(len(looks), SIDE, SIDE)
    each = turned_hashes(thumbnails)                                                   # images x turns
    nearest = np.bitwise_count(each ^ hashes[0]).argmin(1)
    return np.where(nearest == 0, hashes, each[np.arange(len(each)), nearest])


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
            joined = "+".join(names) if len(names) <= SHOWN else f"{names[0]}+{len(names) - 1} more"
            name_of[root] = _free(joined, used, "joined ")
        else:
            name_of[root] = _free(ids[row], used, "image ")
        used.add(name_of[root])
    return [name_of[root] for root in found.component]


def _free(name: str, used: set[str], prefix: str) -> str:
    """`name`, with `prefix` as often as another group already has that name."""
    while name in used:
        name = prefix + name
    return name


def _some(items: Sequence[str] | Sequence[Link]) -> str:
    more = f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
    return ", ".join(map(str, items[:SHOWN])) + more

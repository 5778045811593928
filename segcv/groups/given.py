"""Groups that are given: by a column, by the file name, by the source, and by every coarser id column."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import pandas as pd
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from segcv.errors import GroupError, SegcvWarning
from segcv.groups.names import name_groups, warn_unmatched

SHOWN = 5


def given_labels(rows: pd.DataFrame, pattern: str | None, levels: Sequence[str]) -> tuple[list[str], list[str]]:
    """Group per row from the column, the name, the source and the levels ("" for none), and the evidence for it.

    Raises:
        GroupError: ids differ by blanks only, the pattern fits nothing, a source lies in two groups with rows left
            open, or a level is no column.
    """
    group = _text(rows, "group_id")
    _refuse_blank_twins(group)
    _warn_case_twins(group)
    evidence = pd.Series("", index=rows.index, dtype=object).mask(group.ne(""), "column")
    if pattern is not None:
        told = name_groups(rows["image_id"], pattern)
        warn_unmatched(rows["image_id"][group.eq("")], told[group.eq("")], pattern)
        takes = group.eq("") & told.ne("")
        group, evidence = group.mask(takes, told), evidence.mask(takes, f"name: {pattern}")
    group, evidence = _with_sources(rows, group, evidence)
    for level in levels:
        if level not in rows.columns:
            raise GroupError(f"group.levels={level} is not a column of the table; it has {', '.join(rows.columns)}.")
        group, evidence = _raised(group, evidence, _text(rows, level), level)
    return group.tolist(), evidence.tolist()


def given_groups(images: pd.DataFrame, *, pattern: str | None, levels: Sequence[str]) -> pd.Series:
    """The group of each image that is given ("" for none), as `assign_groups` takes it; nothing is warned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SegcvWarning)
        return pd.Series(given_labels(images, pattern, levels)[0], index=images.index, dtype=object)


def free_name(name: str, used: set[str], prefix: str) -> str:
    """`name`, with `prefix` as often as another group already has that name."""
    while name in used:
        name = prefix + name
    return name


def joined_name(names: Sequence[str]) -> str:
    """The name of a group made of several."""
    return "+".join(names) if len(names) <= SHOWN else f"{names[0]}+{len(names) - 1} more"


def _with_sources(rows: pd.DataFrame, group: pd.Series, evidence: pd.Series) -> tuple[pd.Series, pd.Series]:
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
                      "one group_id, or type group.levels=[source_id].", SegcvWarning, stacklevel=4)
    takes = group.eq("") & source.ne("")
    used = set(group) - {""}
    own = {name: of[0] if of else free_name(name, used, "source ") for name, of in groups_of.items()}
    return group.mask(takes, source.map(own)), evidence.mask(takes, "source_id")


def _raised(group: pd.Series, evidence: pd.Series, value: pd.Series, level: str) -> tuple[pd.Series, pd.Series]:
    """Groups joined so that every value of the level lies in one; a row without group takes the group of its value.

    What is joined has the name of the value, if it is one.
    """
    groups, values = sorted(set(group) - {""}), sorted(set(value) - {""})
    both = group.ne("") & value.ne("")
    ends = pd.Index(groups).get_indexer(pd.Index(group[both])), pd.Index(values).get_indexer(pd.Index(value[both]))
    size = len(groups) + len(values)
    graph = coo_matrix(([1] * int(both.sum()), (ends[0], len(groups) + ends[1])), shape=(size, size))
    part = connected_components(graph, directed=False)[1] if size else []
    groups_in: dict[int, list[str]] = {int(component): [] for component in part}
    values_in: dict[int, list[str]] = {int(component): [] for component in part}
    for place, component in enumerate(part):
        (groups_in if place < len(groups) else values_in)[int(component)].append([*groups, *values][place])
    names: dict[int, str] = {}
    for component, inside in groups_in.items():
        told = values_in[component]
        used = (set(groups) | set(names.values())) - set(inside)
        names[component] = (inside[0] if len(inside) == 1 else free_name(told[0], used, f"{level} ") if len(told) == 1
                            else free_name(joined_name(inside), used, "joined "))
    of_group = dict(zip(groups, map(int, part[:len(groups)]), strict=True))
    of_value = dict(zip(values, map(int, part[len(groups):]), strict=True))
    raised, said = group.tolist(), evidence.tolist()
    for row, (name, told_by) in enumerate(zip(group, value, strict=True)):
        if name:
            component = of_group[name]
            others = [other for other in groups_in[component] if other != name]
            if others:
                said[row] += f"; joined with {' and '.join(others[:SHOWN])} by {level}"
        elif told_by:
            component, said[row] = of_value[told_by], level
        else:
            continue
        raised[row] = names[component]
    return pd.Series(raised, index=group.index, dtype=object), pd.Series(said, index=group.index, dtype=object)


def _text(rows: pd.DataFrame, column: str) -> pd.Series:
    if column not in rows.columns:
        return pd.Series("", index=rows.index, dtype=object)
    text = rows[column].astype("str").astype(object)
    return text.mask(text.str.strip().eq(""), "")


def _refuse_blank_twins(group: pd.Series) -> None:
    distinct = pd.Series(group.unique(), dtype=object)
    twins = distinct[distinct.str.strip().duplicated(keep=False)]
    if len(twins):
        alike = sorted(twins[twins.str.strip() == twins.iloc[0].strip()])
        raise GroupError(f"group_id {' and '.join(map(repr, alike))} differ by blanks only. Write them alike.")


def _warn_case_twins(group: pd.Series) -> None:
    distinct = pd.Series(group.unique(), dtype=object)
    twins = distinct[distinct.str.casefold().duplicated(keep=False)]
    if len(twins):
        alike = sorted(twins[twins.str.casefold() == twins.iloc[0].casefold()])
        warnings.warn(f"group_id {' and '.join(map(repr, alike))} differ by case only ({len(twins)} such ids) and "
                      "count as different groups. If they are one, write them alike: folds may tear it.", SegcvWarning,
                      stacklevel=3)

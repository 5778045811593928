"""Which file holds the prediction of which image, in which run: a folder, a path with places to fill, or a table."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import takewhile
from pathlib import Path

import pandas as pd

from segcv.errors import ScoreError, TableError
from segcv.scoring.arrays import ARRAYS, PICTURES, VOLUMES
from segcv.scoring.forms import LABELS
from segcv.tables import image_id_of, named_files, one_form, read_csv

CELL = ("candidate", "repeat", "fold", "seed")
NUMBERS = ("repeat", "fold", "seed")
COLUMNS = (*CELL, "image_id", "path")
NNUNET = "fold_{fold}/validation"        # where nnU-Net leaves the predictions of what each fold held out
SHOWN = 3
_PLACE = re.compile(r"\{([a-z_]+)\}")
_FITS = {"candidate": r"[^/]+", "repeat": r"\d+", "fold": r"\d+", "seed": r"\d+", "image_id": r".+?"}
_PATH_COLUMNS = ("prediction_path", "pred_path")


def find_predictions(where: str, *, kind: str = LABELS) -> pd.DataFrame:
    """The predictions that `where` names: candidate, repeat, fold, seed ("" where it does not say), image_id, path.

    `where` is a folder (image_id = path below it without suffix), a path with places such as
    `root/{candidate}/fold-{fold}/seed-{seed}/{image_id}.png`, a CSV with image_id or image_path, prediction_path, and
    maybe columns of the cell, or a results folder of nnU-Net, of which each fold's validation folder is taken: its
    masks or volumes, or the .npz beside them where `kind` is not labels. Rows are sorted; hidden files are left out.

    Raises:
        ScoreError: nothing is there, or two files are the prediction of one image in one run.
        TableError: the table cannot be read or lacks a column.
    """
    found = _of_table(Path(where)) if where.lower().endswith(".csv") else _of_places(_nnunet(where), kind)
    found = found.sort_values([*CELL, "image_id", "path"], kind="stable", ignore_index=True)
    twice = found.duplicated([*CELL, "image_id"], keep=False)
    if twice.any():
        first = found[twice].iloc[0]
        paths = found.loc[(found[[*CELL, "image_id"]] == first[[*CELL, "image_id"]]).all(axis=1), "path"].tolist()
        raise ScoreError(f"{first['image_id']} has {len(paths)} predictions: {' and '.join(paths[:SHOWN])} (duplicate; "
                         f"{int(found.duplicated([*CELL, 'image_id']).sum())} too many in all). Take one away, or "
                         "say which kind of file: predictions='FOLDER/{image_id}.png'")
    return found


def _nnunet(where: str) -> str:
    """The path with places of a results folder of nnU-Net; another path as it is."""
    return f"{where}/{NNUNET}" if "{" not in where and any(Path(where).glob("fold_*/validation")) else where


def match_images(found: pd.DataFrame, images: pd.DataFrame, *, where: str) -> pd.DataFrame:
    """`found` with image ids of the images table: equal ones, or equal but for the folders that all images share. A
    volume, named like a source_id, is the prediction of each of that source's images, in `plane` by their `slice`.

    Raises:
        ScoreError: a prediction belongs to no image.
    """
    image_ids = images["image_id"].tolist()
    known, shared = set(image_ids), _shared_folder(image_ids)
    found = found.assign(image_id=[name if name in known else one_form(name) for name in found["image_id"]])
    found = _by_plane(found, images, known | {name.removeprefix(shared) for name in known})
    named = found["image_id"].map(lambda name: name if name in known else f"{shared}{name}")
    strange = ~named.isin(known)
    if strange.any():
        paths = found.loc[strange, "path"].tolist()
        raise ScoreError(f"{int(strange.sum())} of {len(found)} predictions in {where} belong to no image of the "
                         f"table: {', '.join(paths[:SHOWN])}. Predictions are matched by image_id (such as "
                         f"{min(known)}), never by order; if their names add something, say where it stands: "
                         "predictions='FOLDER/{image_id}_pred.png'; or list image_id,prediction_path in a CSV.")
    return found.assign(image_id=named)


def _by_plane(found: pd.DataFrame, images: pd.DataFrame, names: AbstractSet[str]) -> pd.DataFrame:
    """One row per image where a volume was found, with the number of its plane; -1 for files of one image."""
    found = found.assign(plane=-1)
    if not {"source_id", "slice"} <= set(images.columns):
        return found
    volumes = found["image_id"].isin(set(images["source_id"]) - {""}) & ~found["image_id"].isin(names)
    if not volumes.any():
        return found
    wrong = images[~images["slice"].astype("str").str.fullmatch(r"\d+")]
    if len(wrong):
        raise TableError(f"{wrong['image_id'].iloc[0]}: slice is {wrong['slice'].iloc[0]!r}, and must be the number of "
                         "its plane in the volume, from 0 on.")
    slices = images[["image_id", "source_id", "slice"]].rename(columns={"image_id": "slice_id"})
    planes = found[volumes].merge(slices, left_on="image_id", right_on="source_id")
    planes = planes.assign(image_id=planes["slice_id"], plane=planes["slice"].astype("int64"))
    return pd.concat([found[~volumes], planes[found.columns]], ignore_index=True)


def refuse_missing(image_ids: Sequence[str], there: pd.Series, *, where: str) -> None:
    """Refuse images without a prediction; leaving them out would score the ones that are easy to predict."""
    found = set(there)
    missing = [image_id for image_id in image_ids if image_id not in found]
    if missing:
        raise ScoreError(f"{len(missing)} of {len(image_ids)} images have no prediction in {where}: missing "
                         f"{', '.join(missing[:SHOWN])}. Every image counts: predict them, or take their rows out of "
                         "the table.")


def _of_table(table: Path) -> pd.DataFrame:
    if not table.is_file():
        raise TableError(f"{table}: there is no such table of predictions.")
    frame = read_csv(table)
    ids = next((name for name in ("image_id", "image_path") if name in frame.columns), None)
    paths = next((name for name in _PATH_COLUMNS if name in frame.columns), None)
    if ids is None or paths is None:
        raise TableError(f"{table}: a table of predictions has image_id (or image_path) and prediction_path; "
                         f"found {', '.join(frame.columns)}.")
    blank = frame.index[frame[paths].str.strip().eq("")]
    if len(blank):
        raise TableError(f"{table}: {paths} is blank in {len(blank)} of {len(frame)} rows (line {blank[0] + 2}, "
                         f"{frame[ids][blank[0]]}). Every image needs its prediction, or is missing.")
    named = frame[ids] if ids == "image_id" else frame[ids].map(image_id_of)
    cells = {name: frame[name].str.strip() if name in frame.columns else "" for name in CELL}
    for name in NUMBERS:
        if name in frame.columns and not frame[name].str.strip().str.fullmatch(r"\d+").all():
            row = frame.index[~frame[name].str.strip().str.fullmatch(r"\d+")][0]
            raise TableError(f"{table}: {name} is no whole number in line {row + 2}: {frame[name][row]!r}.")
    return pd.DataFrame({**cells, "image_id": named,
                         "path": named_files(frame[paths].str.strip().tolist(), table)}, columns=list(COLUMNS))


def _of_places(where: str, kind: str) -> pd.DataFrame:
    pattern = where.rstrip("/")
    unknown = [name for name in _PLACE.findall(pattern) if name not in _FITS]
    if unknown:
        raise ScoreError(f"predictions={where}: {{{unknown[0]}}} is no place to fill; use "
                         f"{', '.join(f'{{{name}}}' for name in _FITS)}.")
    free = "{image_id}" not in pattern                            # then any file below, of a kind that is read
    parts = Path(f"{pattern}/{{image_id}}" if free else pattern).parts
    fixed = next(number for number, part in enumerate(parts) if "{" in part)
    root = Path(*parts[:fixed]) if fixed else Path()
    if not root.is_dir():
        raise ScoreError(f"{root}: there is no such folder (predictions={where}).")
    kinds = ARRAYS | PICTURES | VOLUMES
    if where.endswith(f"/{NNUNET}"):
        kinds = kinds - ARRAYS if kind == LABELS else frozenset({".npz"})
    fits = _expression("/".join(parts[fixed:]), suffixes=kinds if free else frozenset())
    rows = []
    for path in _files(root):
        place = fits.fullmatch(path.relative_to(root).as_posix())
        if place is not None:
            told = place.groupdict()
            rows.append([*(_number(told.get(name, "")) if name in NUMBERS else told.get(name, "") for name in CELL),
                         one_form(told["image_id"]), str(path)])
    if not rows:
        raise ScoreError(f"{where}: there is no prediction: no file in {root} fits"
                         f"{' (known kinds: ' + ', '.join(sorted(kinds)) + ')' if free else ''}.")
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _expression(pattern: str, *, suffixes: AbstractSet[str]) -> re.Pattern[str]:
    """The pattern as a regular expression; a place that comes twice must hold the same."""
    text, seen, at = "", set(), 0
    for place in _PLACE.finditer(pattern):
        name = place.group(1)
        text += re.escape(pattern[at:place.start()])
        text += f"(?P={name})" if name in seen else f"(?P<{name}>{_FITS[name]})"
        seen.add(name)
        at = place.end()
    text += re.escape(pattern[at:])
    if suffixes:
        text += "(?i:" + "|".join(re.escape(suffix) for suffix in sorted(suffixes)) + ")"
    return re.compile(text)


def _files(root: Path) -> Iterator[Path]:
    for folder, inside, names in os.walk(root, followlinks=True):
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(names) if not name.startswith("."))


def _shared_folder(image_ids: Sequence[str]) -> str:
    """The folders, with a '/' at the end, in which all images lie."""
    folders = [image_id.split("/")[:-1] for image_id in image_ids]
    shared = takewhile(lambda level: len(set(level)) == 1, zip(*folders, strict=False))
    return "".join(f"{level[0]}/" for level in shared)


def _number(text: str) -> str:
    return str(int(text)) if text else ""

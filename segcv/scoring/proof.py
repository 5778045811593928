"""Were these images held out? Training lists of models made elsewhere, held against what is scored."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pandas as pd

from segcv.errors import ScoreError, TableError
from segcv.tables import TRAIN, one_form, read_csv

SHOWN = 3


@dataclass(frozen=True, slots=True)
class HeldOutProof:
    """What a training list proves of one run."""

    listed: int                      # names in the list
    trained: frozenset[str]          # of them, images of the table
    torn_groups: tuple[str, ...]     # groups with images in the list and among the scored ones

    @property
    def said(self) -> str:
        """The proof in words."""
        return f"training list: {len(self.trained) or 'none'} of its {self.listed} names are images of the table"


def check_held_out(scored: pd.DataFrame, images: pd.DataFrame, where: str, *, candidate: str, repeat: int, fold: int,
                   seed: int, external: bool = False) -> HeldOutProof:
    """What the training list of a run proves; `scored` are the rows of `images` it is scored on.

    `where`: a text file with an image a line, a CSV with image_id or image_path (and maybe fold, repeat, and role,
    of which `train` counts), or a JSON list of {"train": [...]}, one entry a fold; {fold}, {seed}, {repeat} and
    {candidate} in it are filled in. Names are image ids, paths, file names where these are unique, or source ids.
    The list of an `external` cohort's model names none of its images; elsewhere that would be another way of writing.

    Raises:
        ScoreError: an image that is scored is in the list, or the list names no image of the table.
        TableError: the list cannot be read.
    """
    for place, value in (("candidate", candidate), ("repeat", repeat), ("fold", fold), ("seed", seed)):
        where = where.replace(f"{{{place}}}", str(value))
    names = _read(Path(where), repeat=repeat, fold=fold)
    trained = _known(names, images, where)
    if not trained and not external:
        raise ScoreError(f"{where}: none of its {len(names)} names is an image of the table ({names[0]} is not one "
                         f"like {images['image_id'].iloc[0]}), so it proves nothing. Write image ids.")
    both = sorted(trained & set(scored["image_id"]))
    if both:
        raise ScoreError(f"{where}: {len(both)} of the {len(scored)} images that are scored were trained on: "
                         f"{', '.join(both[:SHOWN])} ({candidate}, fold {fold}). Their scores are no held-out scores: "
                         "score the images that this model has not seen.")
    groups = set(images.loc[images["image_id"].isin(trained), "group_id"]) & set(scored["group_id"])
    return HeldOutProof(len(names), frozenset(trained), tuple(sorted(groups)))


def _read(path: Path, *, repeat: int, fold: int) -> list[str]:
    if not path.is_file():
        raise TableError(f"{path}: there is no such training list.")
    if path.suffix.lower() == ".json":
        names = _of_json(path, fold)
    elif path.suffix.lower() == ".csv":
        names = _of_csv(path, repeat, fold)
    else:
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise TableError(f"{path}: not a UTF-8 text (byte {error.start}).") from error
        names = [line.strip() for line in lines if line.strip()]
    if not names:
        raise TableError(f"{path}: lists no training image of fold {fold}.")
    return names


def _of_csv(path: Path, repeat: int, fold: int) -> list[str]:
    frame = read_csv(path)
    column = next((name for name in ("image_id", "image_path") if name in frame.columns), None)
    if column is None:
        raise TableError(f"{path}: a training list has image_id or image_path; found {', '.join(frame.columns)}.")
    for name, number in (("fold", fold), ("repeat", repeat)):
        if name in frame.columns:
            frame = frame[frame[name].str.strip().eq(str(number))]
    if "role" in frame.columns:
        frame = frame[frame["role"].str.strip().eq(TRAIN)]
    return [name.strip() for name in frame[column]]


def _of_json(path: Path, fold: int) -> list[str]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TableError(f"{path}: not a readable JSON file: {error}") from error
    if not (isinstance(data, list) and all(isinstance(entry, dict) and "train" in entry for entry in data)):
        raise TableError(f'{path}: a training list in JSON is [{{"train": [...]}}, ...], one entry a fold.')
    if fold >= len(data):
        raise TableError(f"{path}: has {len(data)} folds, and no fold {fold}.")
    return [str(name) for name in data[fold]["train"]]


def _known(names: list[str], images: pd.DataFrame, where: str) -> set[str]:
    """The images that the names mean: an id, a path that ends in one, the last part of exactly one id, or a source."""
    image_ids: list[str] = images["image_id"].tolist()
    known = set(image_ids)
    of_source = images.groupby("source_id")["image_id"].agg(set).to_dict() if "source_id" in images else {}
    by_name: dict[str, list[str]] = {}
    for image_id in image_ids:
        by_name.setdefault(PurePosixPath(image_id).name, []).append(image_id)
    found: set[str] = set()
    for name in (one_form(text) for text in names):
        pure = PurePosixPath(name.replace("\\", "/"))
        bare = PurePosixPath(*pure.parts[:-1], pure.stem) if pure.suffix.lower() in _SUFFIXES else pure
        ways = [name, *("/".join(bare.parts[start:]) for start in range(len(bare.parts)))]
        hit = next((way for way in ways if way in known), None)
        if hit is None and name in of_source:
            found |= of_source[name]
            continue
        same_name = by_name.get(bare.name, [])
        if hit is None and len(same_name) > 1:
            raise ScoreError(f"{where}: {name} may be {' or '.join(same_name[:SHOWN])}. Write image ids.")
        if hit is None and same_name:
            hit = same_name[0]
        if hit is not None:
            found.add(hit)
    return found


_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".npy", ".npz", ".gz", ".nii"})

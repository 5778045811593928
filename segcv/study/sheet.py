"""groups.html: who was put together and why, to look at before folds are believed; one file, no links, bounded size."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path

import pandas as pd

from segcv.pixels import read_image, thumbnail
from segcv.tables import write_text

GROUPS, IMAGES, SIDE = 12, 8, 96      # most groups and images of each that are shown, and the side of a picture, px
EXAMPLES = 10                         # names without group that are listed
_STYLE = ("body{font:14px sans-serif;margin:2em;max-width:70em}table{border-collapse:collapse}td,th{padding:.2em .8em;"
          "text-align:left;border-bottom:1px solid #ccc}figure{display:inline-block;margin:.3em;width:110px;"
          "vertical-align:top;font-size:10px;overflow-wrap:anywhere}img{max-width:96px}")


def evidence_kinds(images: pd.DataFrame) -> pd.Series:
    """How many images have their group by which kind of evidence, the most frequent first."""
    return images["group_evidence"].str.replace(r" (?:of|with) .*", "", regex=True).value_counts()


def write_sheet(path: Path, images: pd.DataFrame, *, rankings: pd.DataFrame, sensitivity: pd.DataFrame | None,
                notes: Sequence[str], nodata: float | None) -> None:
    """Write the sheet of an images table with groups: counts, candidates, doubts, and the largest groups in pictures.

    Groups made by looks, ground or names come first, because they can be wrong; given ones follow.
    """
    made = ~images["group_evidence"].str.startswith("column")
    size = images.assign(made=made).groupby("group_id").agg(images=("image_id", "size"), made=("made", "any"))
    largest = size[size["images"] > 1].reset_index().sort_values(
        ["made", "images", "group_id"], ascending=[False, False, True]).head(GROUPS)
    alone = images.loc[images["group_evidence"].eq("alone"), "image_id"].sort_values()
    parts = [
        f"<h1>Groups of {len(images)} images</h1>",
        f"<p>{images['group_id'].nunique()} groups; the largest has {int(size['images'].max())} images.</p>",
        "<h2>Evidence</h2>", _table(evidence_kinds(images).rename_axis("evidence").reset_index(name="images")),
    ]
    if len(alone):
        more = f" and {len(alone) - EXAMPLES} more" if len(alone) > EXAMPLES else ""
        parts.append(f"<p>Without a group: {escape(', '.join(alone.head(EXAMPLES)))}{more}.</p>")
    if notes:
        parts += ["<h2>What is unsure</h2><ul>", *(f"<li>{escape(note)}</li>" for note in notes), "</ul>"]
    parts += ["<h2>What could be the groups</h2><p>icc: how much more alike the class shares of two images of one "
              "group are than of any two (0: not at all, 1: equal). This reads labels.</p>", _table(rankings)]
    if sensitivity is not None:
        parts += ["<h2>Near-duplicates at other thresholds (bits)</h2>", _table(sensitivity)]
    parts.append("<h2>The largest groups</h2>")
    for group in largest["group_id"]:
        rows = images[images["group_id"].eq(group)].sort_values("image_id")
        parts.append(f"<h3>{escape(group)}: {len(rows)} images</h3>")
        shown = (rows[name].head(IMAGES) for name in ("image_id", "image_path", "group_evidence"))
        parts += [_figure(image_id, Path(path), why, nodata) for image_id, path, why in zip(*shown, strict=True)]
    write_text(path, f"<!DOCTYPE html><html><head><meta charset='utf-8'><title>Groups</title><style>{_STYLE}</style>"
                     f"</head><body>{''.join(parts)}</body></html>\n")


def _figure(image_id: str, path: Path, evidence: str, nodata: float | None) -> str:
    data = base64.b64encode(thumbnail(read_image(path), side=SIDE, nodata=nodata)).decode()
    return (f"<figure><img alt='' src='data:image/png;base64,{data}'><figcaption>{escape(image_id)}<br>"
            f"{escape(evidence)}</figcaption></figure>")


def _table(table: pd.DataFrame) -> str:
    text: str = table.to_html(index=False, border=0, escape=True, na_rep="n/a", float_format="{:.3f}".format)
    return text

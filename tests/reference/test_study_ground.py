"""Where images lie: by columns, by the georeference of the files, by names; and what is refused."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from tiny_ground import SIDE, landscape, write_geotiff, write_tiles

from segcv.errors import GroupError, ImageFileError, SegcvError, SegcvWarning, SplitError
from segcv.pixels import georeferences
from segcv.settings import DataSettings, GroupSettings, SplitSettings
from segcv.study import open_study

STEP = 48                 # of 64: neighbours share a quarter
ROW = {f"t{n}": (STEP * n, 0) for n in range(2)}
FAR = {f"far{n}": (150 + 100 * n, 300) for n in range(6)}
UTM, OTHER = "EPSG:32632", "EPSG:32633"


def study(folder: Path, table: pd.DataFrame, *, group: GroupSettings | None = None, **split: object):
    table.to_csv(folder / "images.csv", index=False)
    settings = {"name": "group_kfold", "folds": 3} | split
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        made = open_study(DataSettings(table=str(folder / "images.csv"), num_classes=2),
                          group or GroupSettings(near_duplicates=None, overlaps=None), SplitSettings(**settings),
                          splits=folder / "splits", cache=folder / "cache")
    return made.split, [str(one.message) for one in said if issubclass(one.category, SegcvWarning)]


def evidence(split) -> dict[str, str]:
    return split.images.set_index("image_id")["group_evidence"].to_dict()


def test_the_georeference_is_that_of_rasterio(tmp_path: Path):
    """Pixels of half a metre: 64 px are 32 m; t1 starts 48 px = 24 m to the right; a foot is .3048006096 m."""
    pytest.importorskip("rasterio")
    metres = georeferences(write_tiles(tmp_path / "m", ROW, crs=dict.fromkeys(ROW, UTM)))
    feet = georeferences(write_tiles(tmp_path / "ft", ROW, crs=dict.fromkeys(ROW, "EPSG:2263"), pixel=2.0))
    plain = georeferences(write_tiles(tmp_path / "png", ROW))

    assert metres[["x", "y", "w", "h", "pixel_size"]].to_numpy().tolist() == [
        [500_000, 4_999_968, 32, 32, 0.5], [500_024, 4_999_968, 32, 32, 0.5]]
    assert set(metres["crs"]) == {UTM} and set(metres["unit"]) == {"m"} and not metres["turned"].any()
    assert feet["w"].tolist() == pytest.approx([128 * 0.3048006096] * 2)
    assert plain.empty


@pytest.mark.parametrize("how", ["geotiff", "columns", "columns without sizes", "names", "numbers"])
def test_tiles_that_overlap_are_one_group_whatever_tells_their_place(tmp_path: Path, how: str):
    """Two of eight tiles share a quarter; the others lie alone."""
    places = ROW | FAR
    if how == "geotiff":
        pytest.importorskip("rasterio")
        table = write_tiles(tmp_path, places, crs=dict.fromkeys(places, UTM))
    elif how == "names":
        table = write_tiles(tmp_path, {f"scene_x{x}_y{y}": (x, y) for x, y in places.values()})
    elif how == "numbers":
        table = write_tiles(tmp_path, {f"scene_{y}_{x}": (x, y) for x, y in places.values()})      # y first
    else:
        table = write_tiles(tmp_path, places)
        table[["x", "y"]] = list(places.values())
        table = table if how == "columns without sizes" else table.assign(w=SIDE, h=SIDE)
    split, _ = study(tmp_path, table, group=GroupSettings(pattern=None, near_duplicates=None, overlaps=None))

    kinds = sorted(evidence(split).values())
    assert kinds[:6] == ["alone"] * 6
    assert [kind.split(" with ")[0] for kind in kinds[6:]] == ["overlap", "overlap"]
    assert split.images["group_id"].nunique() == 7
    assert pd.read_csv(split.folder / "ground.csv")["overlaps"].sum() == 2


def test_numbers_that_are_no_pixels_put_nothing_together(tmp_path: Path):
    """The same names, but each tile is of a landscape of its own."""
    places = {f"scene_{x}_{y}": (x, y) for x, y in (ROW | FAR).values()}
    table = write_tiles(tmp_path, places, scenes={name: n for n, name in enumerate(places)})
    split, _ = study(tmp_path, table)

    assert set(evidence(split).values()) == {"alone"}
    assert not (split.folder / "ground.csv").exists()


def test_files_that_touch_to_a_thousandth_of_a_pixel_do_not_overlap(tmp_path: Path):
    pytest.importorskip("rasterio")
    places = {"a": (0, 0), "b": (SIDE, 0)} | FAR
    table = write_tiles(tmp_path, places, crs=dict.fromkeys(places, UTM))
    tile = landscape(SIDE, SIDE, seed=9)
    write_geotiff(tmp_path / "images" / "b.tif", tile, UTM, 500_000 + (SIDE - 1e-3) * 0.5, 5_000_000, 0.5)
    split, _ = study(tmp_path, table)

    assert set(evidence(split).values()) == {"alone"}


def test_two_systems_are_kept_apart_and_said_and_cannot_be_cut_into_blocks(tmp_path: Path):
    """t0 and t1 have coordinates that overlap, in different systems."""
    pytest.importorskip("rasterio")
    places = ROW | FAR
    table = write_tiles(tmp_path, places, crs=dict.fromkeys(places, UTM) | {"t1": OTHER})
    split, said = study(tmp_path, table)

    assert set(evidence(split).values()) == {"alone"}
    assert any("2 coordinate systems: EPSG:32632 (7 images), EPSG:32633 (1 images)" in text for text in said)
    with pytest.raises(SplitError, match=r"2 coordinate systems.*gdalwarp"):
        study(tmp_path, table, name="blocks")


def test_blocks_of_geotiffs_keep_a_buffer_in_metres_or_pixels(tmp_path: Path):
    """12 tiles of 32 m, 50 m apart (18 m between): three blocks of 4; a buffer of 20 m takes the neighbours of each
    border: 2 borders x 2 tiles; 36 px of half a metre are the 18 m.
    """
    pytest.importorskip("rasterio")
    places = {f"t{n:02d}": (100 * (n % 10), 200 * (n // 10)) for n in range(10)}
    table = write_tiles(tmp_path, places, crs=dict.fromkeys(places, UTM))
    without, _ = study(tmp_path, table, name="blocks", folds=2)
    metres, _ = study(tmp_path, table, name="blocks", folds=2, buffer_m=18.5)
    pixels, _ = study(tmp_path, table, name="blocks", folds=2, buffer_px=36.5)
    less, _ = study(tmp_path, table, name="blocks", folds=2, buffer_px=35.0)

    counts = [(one.roles["role"] == "excluded").sum() for one in (without, metres, pixels, less)]
    assert counts == [0, 2, 2, 0]
    assert metres.roles.query("role == 'held_out'").groupby("fold").size().tolist() == [5, 5]


@pytest.mark.parametrize(("change", "message"), [
    ({"buffer_m": 5.0}, r"split.buffer_m=5.0: places are degrees here"),
    ({"group": GroupSettings(ground=None)}, r"group.ground=null leaves it out"),
    ({"group": GroupSettings(ground="columns")}, r"group.ground=columns needs the columns x and y"),
    ({"group": GroupSettings(ground="map")}, r"group.ground=map is not known"),
])
def test_blocks_that_cannot_be_cut_say_why(tmp_path: Path, change: dict[str, object], message: str):
    pytest.importorskip("rasterio")
    table = write_tiles(tmp_path, FAR, crs=dict.fromkeys(FAR, "EPSG:4326"), pixel=1e-5)
    with pytest.raises(SegcvError, match=message):
        study(tmp_path, table, name="blocks", **change)


def test_pictures_without_any_place_cannot_be_cut_into_blocks(tmp_path: Path):
    table = write_tiles(tmp_path, {"anna": (0, 0), "bert": (100, 0), "carl": (200, 0)})
    with pytest.raises(SplitError, match=r"columns x, y .and w, h., GeoTIFFs, or names such as scene_x512_y1024"):
        study(tmp_path, table, name="blocks")
    with pytest.raises(GroupError, match=r"none of 3 images is a GeoTIFF"):
        study(tmp_path, table, group=GroupSettings(ground="georeference"))


def test_without_rasterio_the_way_out_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("rasterio")
    table = write_tiles(tmp_path, FAR, crs=dict.fromkeys(FAR, UTM))
    monkeypatch.setattr("segcv.pixels.georeference.find_spec", lambda name: None)

    _, said = study(tmp_path, table)
    assert any("pip install 'segcv[geo]'" in text and "not known whether images share ground" in text for text in said)
    with pytest.raises(ImageFileError, match=r"6 of 6 images are GeoTIFFs .* pip install 'segcv\[geo\]'"):
        study(tmp_path, table, name="blocks")


def test_names_in_rows_and_columns_are_cut_into_blocks_of_cells(tmp_path: Path):
    """4 x 2 cells, two folds: halves of four, each border leaves out the two cells beside it."""
    cells = {f"scene_r{row}_c{column}": (100 * column, 100 * row) for row in range(2) for column in range(4)}
    group = GroupSettings(pattern=None, near_duplicates=None, overlaps=None)
    split, _ = study(tmp_path, write_tiles(tmp_path, cells), name="blocks", folds=2, group=group)

    assert (split.roles["role"] == "excluded").sum() == 4
    with pytest.raises(SplitError, match=r"places are cells of a grid here"):
        study(tmp_path, write_tiles(tmp_path, cells), name="blocks", folds=2, buffer_px=8.0,
              group=replace(group, turns=False))

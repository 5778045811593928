"""What the audit says of published folds that are known to leak, and of planted copies on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image, ImageEnhance
from tiny_leaks import picture

from segcv.leakage import Audit, Facts, audit, facts_of, folds_of_column
from segcv.pixels import check_data, label_map, write_mask
from segcv.tables import read_images

WITHOUT_GROUPS = ["group_id", "source_id", "frame"]


@pytest.fixture(scope="module")
def camvid(shared: Path) -> Facts:
    images = read_images(shared / "data/camvid/dataset.csv")
    images["sequence_fold"] = images["group_id"]
    profile = check_data(images, label_map(num_classes=11, ignore=11), workers=2)
    return facts_of(images, profile=profile.images, masks=profile.masks, looks=profile.looks)


def audited(facts: Facts, column: str, *, drop: list[str] | None = None) -> Audit:
    images = facts.images.drop(columns=drop or [])
    return audit(facts_of(images, profile=facts.profile, masks=facts.masks, looks=facts.looks,
                          folds=folds_of_column(images, column)))


def test_the_usual_split_of_camvid_leaks_though_no_picture_looks_alike(camvid: Facts):
    """Measured by hand and written in the set's notes: 0016E5 is in train and val, 0001TP in train and test."""
    done = audited(camvid, "orig_split")

    assert [(finding.check, finding.severity) for finding in done.findings] == [("groups_whole", "fail")]
    assert done.findings[0].measures["torn"] == ["0001TP", "0016E5"]
    assert "near_duplicates" in done.silent


def test_the_usual_split_of_camvid_is_told_from_names_alone(camvid: Facts):
    """By hand from the table: between 0001TP's training and test the nearest frames are 8490 and 8580, 90 apart; of
    0016E5's validation frames 7961..8159 the nearest training frames are 7890 and 8250: 71 apart at least."""
    done = audited(camvid, "orig_split", drop=WITHOUT_GROUPS)

    frames = next(finding for finding in done.findings if finding.check == "neighbouring_frames")
    assert frames.severity == "warn" and not done.failed
    assert frames.measures["sequences"] == ["0001TP", "0016E5"]
    assert frames.measures["nearest_min"] == 71
    assert "near_duplicates" in done.silent


@pytest.mark.parametrize("drop", [[], WITHOUT_GROUPS], ids=["groups given", "names only"])
def test_folds_of_whole_sequences_of_camvid_are_not_flagged(camvid: Facts, drop: list[str]):
    done = audited(camvid, "sequence_fold", drop=drop)

    leaks = {"groups_whole", "near_duplicates", "neighbouring_frames", "name_sources", "shared_ground", "same_bytes",
             "same_pixels", "same_masks"}
    assert leaks <= set(done.silent)


def test_copies_on_disk_are_found_by_the_check_that_is_theirs(tmp_path: Path):
    """Sixteen pictures in two folds; in fold 1 four of them are made from those of fold 0: the same file, the same
    pixels with another compression, a brighter copy, a copy turned by 90 degrees (mask and all)."""
    rows = []
    for number in range(16):
        image, truth = picture(number), np.zeros((64, 64), np.uint8)
        truth[number:number + 20, 10:40] = 1
        rows.append((f"picture{'abcdefghijklmnop'[number]}.png", image, truth, number % 2))
    for name, image, truth, _ in rows:
        Image.fromarray(image).save(tmp_path / name)
        write_mask(tmp_path / f"mask_{name}", truth)
    table = pd.DataFrame([(name, f"mask_{name}", fold) for name, _, _, fold in rows],
                         columns=["image_path", "mask_path", "fold"]).astype({"fold": str})
    sources = [0, 2, 4, 6]
    copies = [1, 3, 5, 7]
    for source, copy in zip(sources, copies, strict=True):
        name, image, truth, _ = rows[source]
        other = tmp_path / rows[copy][0]
        if source == 0:
            other.write_bytes((tmp_path / name).read_bytes())
        elif source == 2:
            Image.fromarray(image).save(other, compress_level=1)
        elif source == 4:
            ImageEnhance.Brightness(Image.fromarray(image)).enhance(1.1).save(other)
        else:
            Image.fromarray(np.rot90(image)).save(other)
            truth = np.rot90(truth)
        write_mask(tmp_path / f"mask_{rows[copy][0]}", np.ascontiguousarray(truth))
    table.to_csv(tmp_path / "images.csv", index=False)
    images = read_images(tmp_path / "images.csv")
    profile = check_data(images, label_map(num_classes=2))

    done = audit(facts_of(images, profile=profile.images, masks=profile.masks, looks=profile.looks,
                          folds=folds_of_column(images, "fold")))

    touched = {finding.check: finding.held_out_touched for finding in done.findings}
    assert touched == {"same_bytes": 2, "same_pixels": 2, "same_masks": 2, "near_duplicates": 4}
    assert next(f for f in done.findings if f.check == "near_duplicates").measures["turned_pairs"] == 1

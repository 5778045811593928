"""One row per group, in an order that neither row order nor group names can change."""

from __future__ import annotations

import pandas as pd

from segcv.errors import SplitError


def groups_of(images: pd.DataFrame, masks: pd.DataFrame | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two tables over the same groups: images (number, first image id), and labelled pixels per class, as int64.

    The groups are sorted by their least image id, so renaming groups or shuffling rows changes nothing. Classes are
    the class ids >= 0 of the mask profile `masks` that have pixels; without `masks` there are none.

    Raises:
        SplitError: an image has no group_id, or the masks lack an image.
    """
    if "group_id" not in images.columns or images["group_id"].eq("").any():
        blank = images["image_id"] if "group_id" not in images.columns else images.loc[images["group_id"].eq(""),
                                                                                       "image_id"]
        raise SplitError(f"{len(blank)} of {len(images)} images have no group_id (such as {blank.iloc[0]}). "
                         "Assign groups first.")
    by_group = images.groupby("group_id", sort=False)["image_id"]
    table = pd.DataFrame({"images": by_group.size(), "first": by_group.min()}).sort_values("first")
    pixels = pd.DataFrame(index=table.index)
    if masks is not None:
        profiled = set(masks["image_id"])
        missing = [image_id for image_id in images["image_id"] if image_id not in profiled]
        if missing:
            raise SplitError(f"{len(missing)} of {len(images)} images are missing from the mask profile, such as "
                             f"{missing[0]}. Profile the masks again.")
        group = masks["image_id"].map(images.set_index("image_id")["group_id"])
        seen = masks.assign(group_id=group)[group.notna() & (masks["class_id"] >= 0) & (masks["pixels"] > 0)]
        pixels = (seen.pivot_table(index="group_id", columns="class_id", values="pixels", aggfunc="sum", fill_value=0)
                  .reindex(table.index, fill_value=0).astype("int64"))
    return table, pixels

"""What the neutral names of a case are in segcv's settings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def quoted(value: Any) -> str:
    """A value as Hydra's command line takes it."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{quoted(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(quoted(item) for item in value) + "]"
    if value is None:
        return "null"
    return f"'{value}'" if isinstance(value, str) else json.dumps(value)


SPLITS = {"random": "random_kfold", "kfold": "random_kfold", "k_fold": "random_kfold", "group": "group_kfold",
          "stratified_group_kfold": "balanced_group_kfold", "balanced": "balanced_group_kfold",
          "leave_one_out": "leave_one_group_out", "logo": "leave_one_group_out", "time_series": "time",
          "time_ordered": "time", "temporal": "time", "spatial": "blocks"}
KINDS = {"probability": "probabilities", "probs": "probabilities", "label": "labels", "masks": "labels",
         "mask": "labels", "logit": "logits"}
SETTINGS: dict[str, Callable[[Any, Path], list[str]]] = {
    "num_classes": lambda value, case: [f"data.num_classes={value}"],
    "class_names": lambda value, case: [f"data.classes={quoted(value)}"],
    "ignore_index": lambda value, case: [f"data.ignore={quoted(value)}"],
    "mask_values": lambda value, case: [f"data.values={quoted(value)}"],
    "class_colors": lambda value, case: ["data.colors=" + quoted(
        {f"{red:02X}{green:02X}{blue:02X}": int(class_id) for class_id, (red, green, blue) in value.items()})],
    "mask_source": lambda value, case: [f"data.annotations.format={value}"],
    "in_channels": lambda value, case: [f"data.bands={value}"],
    "image_dir": lambda value, case: [f"data.images={quoted(str(case / value))}"],
    "mask_dir": lambda value, case: [f"data.masks={quoted(str(case / value))}"],
    "n_splits": lambda value, case: [f"split.folds={value}"],
    "split": lambda value, case: [f"split={SPLITS.get(value, value)}"],
    "mask_suffix": lambda value, case: [f"data.mask_suffix={quoted(value)}"],
    "nodata": lambda value, case: [f"data.nodata={value}"],
    "max_pixels": lambda value, case: [f"data.max_pixels={value}"],
    "group_column": lambda value, case: [f"group.column={quoted(value)}"],
    "group_levels": lambda value, case: [f"group.levels={quoted(value)}"],
    "repeats": lambda value, case: [f"split.repeats={value}"],
    "n_repeats": lambda value, case: [f"split.repeats={value}"],
    "split_seed": lambda value, case: [f"split.seed={value}"],
    "gap_days": lambda value, case: [f"split.gap_days={value}"],
    "buffer_px": lambda value, case: [f"split.buffer_px={value}"],
    "leave": lambda value, case: [f"split.leave={value}"],
    "locked_groups": lambda value, case: [f"split.locked_groups={quoted(value)}"],
    "balance_on": lambda value, case: [f"split.balance_on={quoted(value if isinstance(value, list) else [value])}"],
    "stratify": lambda value, case: [f"split.stratify={quoted(value)}"],
    "lr": lambda value, case: [f"optim.lr={value}"],
    "learning_rate": lambda value, case: [f"optim.lr={value}"],
    "loss": lambda value, case: [f"loss.name={value}"],
    "class_weights": lambda value, case: [f"loss.class_weights={quoted(value)}"],
    "encoder": lambda value, case: [f"model.encoder={value}"],
    "encoder_weights": lambda value, case: [f"model.encoder_weights={quoted(value)}"],
    "augment": lambda value, case: [f"augment={'none' if value in (None, False) else value}"],
    "crop": lambda value, case: [f"augment.crop={quoted(value)}"],
    "crop_size": lambda value, case: [f"augment.crop={quoted(value)}"],
    "patience": lambda value, case: ["trainer.stopping=early", f"trainer.patience={value}"],
    "early_stopping": lambda value, case: [f"trainer.stopping={'early' if value else 'fixed'}"],
    "repeat": lambda value, case: [f"repeat={value}"],
    "scale": lambda value, case: [f"scale={value}"],
    "size": lambda value, case: [f"size={value}"],
    "trained_on": lambda value, case: [f"trained_on={quoted(str(case / value))}"],
    "allow_missing": lambda value, case: [f"allow_missing={quoted(value)}"],
    "candidate": lambda value, case: [f"candidate={quoted(value)}"],
    "level": lambda value, case: [f"level={value}"],
    "labels": lambda value, case: [f"data.annotations.labels={quoted(value)}"],
    "overlap": lambda value, case: [f"data.annotations.overlap={value}"],
    "crowd": lambda value, case: [f"data.annotations.crowd={value}"],
    "outside": lambda value, case: [f"data.annotations.outside={value}"],
    "time_column": lambda value, case: [f"split.time_column={quoted(value)}"],
    "splits_file": lambda value, case: ["split=from_table", f"split.table={quoted(str(case / value))}"],
    "group_from_name": lambda value, case: [f"group.pattern={value}"],
    "source_regex": lambda value, case: [f"group.pattern={quoted(value)}"],
    "dedup": lambda value, case: ["group.near_duplicates=null", "group.overlaps=null"] if value == "off" else [],
    "dedup_threshold": lambda value, case: [f"group.near_duplicates={value}"],
    "dedup_turns": lambda value, case: [f"group.turns={quoted(value)}"],
    "fold": lambda value, case: [f"fold={value}"],
    "seed": lambda value, case: [f"seed={value}"],
    "validation_fold": lambda value, case: ["trainer.stopping=early", f"trainer.validation_fold={value}"],
    "batch_size": lambda value, case: [f"trainer.batch_size={value}"],
    "epochs": lambda value, case: [f"trainer.epochs={value}"],
    "model": lambda value, case: [f"model={value}"],
    "pred_kind": lambda value, case: [f"kind={KINDS.get(value, value)}"],
    "pred_dir": lambda value, case: [f"predictions={quoted(str(case / value))}"],
    "pred_values": lambda value, case: [f"predicted_values={quoted(value)}"],
    "threshold": lambda value, case: [f"threshold={value}"],
    "channels": lambda value, case: [f"channels={value}"],
    "foreground": lambda value, case: [f"foreground={quoted(value)}"],
    "spacing": lambda value, case: [f"spacing={quoted(value)}"],
    "tolerance": lambda value, case: [f"tolerance={value}"],
    "metrics": lambda value, case: [f"metrics={quoted(value)}"],
    "world_size": lambda value, case: [f"workers={value}"],
    "fold_column": lambda value, case: [f"fold_column={quoted(value)}"],
    "roles": lambda value, case: [f"roles={quoted(str(case / value))}"],
    "results": lambda value, case: [f"results={quoted(str(case / value))}"],
    "seeds": lambda value, case: [f"seeds={quoted(value)}"],
    "compare": lambda value, case: [f"candidates={quoted(value)}"],
}

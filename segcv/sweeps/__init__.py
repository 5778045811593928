"""Finished runs as what reports stand on: which belong together, their split, their scores. No torch, no images.

A sweep is all runs of one candidate with one config: repeats x folds x seeds.
"""

from segcv.sweeps.beside import outlines_of, probabilities_of
from segcv.sweeps.choosing import (
    START,
    Sweep,
    chosen_sweep,
    hold_out_of,
    kept_overrides,
    named_run,
    named_sweep,
    rerun_commands,
    set_name,
)
from segcv.sweeps.excluding import images_without, read_excluded, without
from segcv.sweeps.fiftyone_export import export_fiftyone
from segcv.sweeps.pictures import CutPicture, cut_differences, cut_pictures, legend_of, worth_looking_at
from segcv.sweeps.reading import confusion_of, scores_of, split_of, table_of, train_scores_of
from segcv.sweeps.rungs import rung_of
from segcv.sweeps.suspects import suspect_images

__all__ = [
    "START", "CutPicture", "Sweep", "chosen_sweep", "confusion_of", "cut_differences", "cut_pictures",
    "export_fiftyone", "hold_out_of", "images_without", "kept_overrides", "legend_of", "named_run", "named_sweep",
    "outlines_of", "probabilities_of", "read_excluded", "rerun_commands", "rung_of", "scores_of", "set_name",
    "split_of", "suspect_images", "table_of", "train_scores_of", "without", "worth_looking_at",
]

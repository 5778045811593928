"""Finished runs as what reports stand on: which belong together, their split, their scores. No torch, no images.

A sweep is all runs of one candidate with one config: repeats x folds x seeds.
"""

from segcv.sweeps.beside import outlines_of, probabilities_of
from segcv.sweeps.choosing import START, Sweep, chosen_sweep, kept_overrides, rerun_commands, set_name
from segcv.sweeps.pictures import CutPicture, cut_pictures, worth_looking_at
from segcv.sweeps.reading import scores_of, split_of, table_of, train_scores_of

__all__ = [
    "START", "CutPicture", "Sweep", "chosen_sweep", "cut_pictures", "kept_overrides", "outlines_of",
    "probabilities_of", "rerun_commands", "scores_of", "set_name", "split_of", "table_of", "train_scores_of",
    "worth_looking_at",
]

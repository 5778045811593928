"""A study: the images, what their masks mean, their groups and their folds, made once from settings, then only read.

The one place where pixels, groups and splits meet; every command that needs data opens a study.
"""

from segcv.study.annotations import convert
from segcv.study.choosing import level_notes
from segcv.study.naming import demo_table, images_table
from segcv.study.opening import GROUND, GROUPINGS, SENSITIVITY, SHEET, Study, open_study, split_folder
from segcv.study.reading import Data, declared_levels, open_data
from segcv.study.sheet import evidence_kinds
from segcv.study.truth import EXTERNAL, Truth, keep_roles, open_truth

__all__ = [
    "EXTERNAL", "GROUND", "GROUPINGS", "SENSITIVITY", "SHEET", "Data", "Study", "Truth", "convert", "declared_levels",
    "demo_table", "evidence_kinds", "images_table", "keep_roles", "level_notes", "open_data", "open_study",
    "open_truth", "split_folder",
]

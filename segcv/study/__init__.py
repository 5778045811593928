"""A study: the images, what their masks mean, their groups and their folds, made once from settings, then only read.

The one place where pixels, groups and splits meet; every command that needs data opens a study.
"""

from segcv.study.naming import demo_table, images_table
from segcv.study.opening import Study, open_study, split_folder

__all__ = ["Study", "demo_table", "images_table", "open_study", "split_folder"]

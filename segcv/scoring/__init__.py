"""Masks from anywhere to scores: one image counted at a time, and the tables that everything later reads. No torch."""

from segcv.scoring.images import ImageScore, nearest, score_image
from segcv.scoring.patches import overlapping_patches
from segcv.scoring.score_tables import (
    ImageCounts,
    ScoreTables,
    counts_of,
    read_confusion,
    read_image_facts,
    read_scores,
)

__all__ = [
    "ImageCounts", "ImageScore", "ScoreTables", "counts_of", "nearest", "overlapping_patches", "read_confusion",
    "read_image_facts", "read_scores", "score_image",
]

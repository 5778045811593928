"""Masks from anywhere to scores: one image counted at a time, and the tables that everything later reads. No torch.

    plans = plan_runs(find_predictions("masks/{image_id}.png"), images, roles=None, where="masks", name="unet")
    score_run(plans[0], Reading(labels, predicted_coding(labels), PredictionForm("labels")), run_id="unet", out=folder)
    read_scores(folder)      # one row per image and class: tp, fp, fn, valid
"""

from segcv.scoring.arrays import check_file
from segcv.scoring.finding import find_predictions
from segcv.scoring.forms import PredictionForm
from segcv.scoring.histograms import (
    histogram_of,
    probability_scores,
    read_histograms,
    threshold_counts,
)
from segcv.scoring.images import ImageScore, score_image
from segcv.scoring.items import score_item
from segcv.scoring.patches import Place, overlapping_patches, place_of, refuse_overlaps, scored_ids
from segcv.scoring.plans import RunPlan, plan_runs, roles_of_plans
from segcv.scoring.proof import HeldOutProof, check_held_out
from segcv.scoring.running import score_run
from segcv.scoring.score_tables import (
    ImageCounts,
    ScoreTables,
    counts_of,
    read_confusion,
    read_image_facts,
    read_scores,
)
from segcv.scoring.sizes import check_size_rule, nearest
from segcv.scoring.stitching import Stitcher
from segcv.scoring.summary import summary_of, summary_text
from segcv.scoring.tally import Item, Reading, Scored
from segcv.scoring.writing import RunScores

__all__ = [
    "HeldOutProof", "ImageCounts", "ImageScore", "Item", "Place", "PredictionForm", "Reading", "RunPlan", "RunScores",
    "ScoreTables", "Scored", "Stitcher", "check_file", "check_held_out", "check_size_rule", "counts_of",
    "find_predictions", "histogram_of", "nearest", "overlapping_patches", "place_of", "plan_runs", "probability_scores",
    "read_confusion", "read_histograms", "read_image_facts", "read_scores", "refuse_overlaps", "roles_of_plans",
    "score_image", "score_item", "score_run", "scored_ids", "summary_of", "summary_text", "threshold_counts",
]

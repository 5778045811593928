"""Scores to Estimates: fold tables, averages, groups, intervals, baselines. Only tables come in: no image, no torch.

`summarise` says everything of one candidate; `summarise_results` and `compare_results` what a plain table of fold
scores supports. Every Estimate has an interval or says why not; undefined is NaN.
"""

from segcv.statistics.anova import (
    Repeated,
    Sums,
    Variances,
    drawn_variances,
    model_factor,
    repeated_variances,
    sums_of_squares,
    variances,
)
from segcv.statistics.averages import averages_table, undefined_table
from segcv.statistics.baselines import LeakGap, leak_gap, paired_difference, train_beside_held_out, trivial_baseline
from segcv.statistics.by_group import GroupScores, group_pooled_scores, group_scores
from segcv.statistics.complete import check_complete, check_one_sweep, missing_cells, rest_commands
from segcv.statistics.estimate import THE_RECIPE, THESE_MODELS, Estimate
from segcv.statistics.folds import FoldStatistics, fold_estimate, fold_statistics, fold_summary, fold_table
from segcv.statistics.groups import (
    GroupProfile,
    class_shares,
    group_profile,
    group_table,
    grouping_verdict,
    image_means,
    intraclass_correlation,
    percentile_estimates,
)
from segcv.statistics.intervals import (
    bootstrap_t,
    effective_groups,
    gaffke,
    interval_cautions,
    rank_correlation,
    score_cautions,
    student_t,
)
from segcv.statistics.pooled import pooled_estimates
from segcv.statistics.results import (
    RESULTS,
    ResultsComparison,
    ResultsSummary,
    compare_results,
    read_results,
    results_table,
    summarise_results,
)
from segcv.statistics.scored import ScoredImages, scored_images
from segcv.statistics.summary import TARGETS, Summary, summarise
from segcv.statistics.targets import equal_group_estimates, equal_row_estimates

__all__ = [
    "RESULTS", "TARGETS", "THESE_MODELS", "THE_RECIPE", "Estimate", "FoldStatistics", "GroupProfile",
    "GroupScores", "LeakGap", "Repeated", "ResultsComparison", "ResultsSummary", "ScoredImages", "Summary",
    "Sums", "Variances", "averages_table", "bootstrap_t", "check_complete", "check_one_sweep", "class_shares",
    "compare_results", "drawn_variances", "effective_groups", "equal_group_estimates", "equal_row_estimates",
    "fold_estimate", "fold_statistics", "fold_summary", "fold_table", "gaffke", "group_pooled_scores",
    "group_profile", "group_scores", "group_table", "grouping_verdict", "image_means", "interval_cautions",
    "intraclass_correlation", "leak_gap", "missing_cells", "model_factor", "paired_difference",
    "percentile_estimates", "pooled_estimates", "rank_correlation", "read_results", "repeated_variances",
    "rest_commands", "results_table", "score_cautions", "scored_images", "student_t",
    "summarise", "summarise_results", "sums_of_squares", "train_beside_held_out", "trivial_baseline",
    "undefined_table", "variances",
]

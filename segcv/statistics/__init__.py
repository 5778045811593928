"""Scores to Estimates: fold tables, averages, groups, intervals, baselines. Only tables come in: no image, no torch.

`summarise` says everything of one candidate; `summarise_results` and `compare_results` what a plain table of fold
scores supports. Any table of scores (run, fold, group, image, score), from any tool, is enough for `decompose`
(where the spread comes from), `compare` (two candidates), `plan` (how many groups, seeds, repeats), `groups_differ` and
`folds_differ`. Every Estimate has an interval or says why not; undefined is NaN.
"""

from segcv.statistics.advice import Advice, advise, next_step
from segcv.statistics.anova import (
    Repeated,
    RepeatedSums,
    Sums,
    Variances,
    drawn_repeated,
    drawn_variances,
    model_factor,
    repeated_sums,
    repeated_variances,
    sums_of_squares,
    variances,
)
from segcv.statistics.any_table import SCORE_TABLE, groups_of_images, table_groups
from segcv.statistics.averages import averages_table, undefined_table
from segcv.statistics.baselines import (
    LeakGap,
    baseline_ladder,
    leak_gap,
    paired_difference,
    train_beside_held_out,
    trivial_baseline,
)
from segcv.statistics.by_group import GroupScores, group_difference, group_pooled_scores, group_scores
from segcv.statistics.candidates import (
    Candidate,
    CandidatesComparison,
    Pair,
    candidate,
    compare_candidates,
    false_alarms,
    holm,
    rank_probabilities,
)
from segcv.statistics.cohort import Cohort, cohort
from segcv.statistics.comparison import (
    Asked,
    Comparison,
    compare,
    compare_difference,
    fold_differences,
    sign_flip,
    two_sided,
)
from segcv.statistics.complete import check_complete, check_one_sweep, missing_cells, own_seeds, rest_commands
from segcv.statistics.components import PARTS, Components, decompose
from segcv.statistics.diagnosis import Diagnosis, diagnose
from segcv.statistics.estimate import THE_RECIPE, THESE_MODELS, Estimate
from segcv.statistics.external import conformal_errors, external_drop, frozen_estimates
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
    hoeffding,
    interval_cautions,
    rank_correlation,
    score_cautions,
    student_t,
)
from segcv.statistics.permutation import PermutationTest, folds_differ, groups_differ
from segcv.statistics.planning import (
    Design,
    Plan,
    designs,
    detectable,
    half_width,
    plan,
    spread_of,
    spread_of_difference,
)
from segcv.statistics.pooled import Jackknife, jackknife, pooled_difference, pooled_estimates, pooled_mean
from segcv.statistics.resampling import GroupSums, drawn_groups, drawn_means, group_sums_of, product
from segcv.statistics.results import (
    RESULTS,
    ResultsSummary,
    read_results,
    results_table,
    summarise_results,
)
from segcv.statistics.results_compared import ResultsComparison, compare_all_results, compare_results
from segcv.statistics.scored import ScoredImages, scored_images
from segcv.statistics.shift import (
    DecayCurve,
    FeatureTests,
    decay_curve,
    difficulty_stability,
    feature_correlations,
    feature_regression,
    training_distance,
)
from segcv.statistics.sources import Sources, group_features, sources_of
from segcv.statistics.spread import Mean, Spread, detectable_difference, effect_spread, mean_of, row_mean_of, trace_df
from segcv.statistics.summary import TARGETS, Summary, summarise
from segcv.statistics.targets import equal_group_estimates, equal_row_estimates, weights_of
from segcv.statistics.weighted import column_weights, compare_weighted

__all__ = [
    "PARTS", "RESULTS", "SCORE_TABLE", "TARGETS", "THESE_MODELS", "THE_RECIPE", "Advice", "Asked", "Candidate",
    "CandidatesComparison", "Cohort", "Comparison", "Components", "DecayCurve", "Design", "Diagnosis", "Estimate",
    "FeatureTests", "FoldStatistics", "GroupProfile", "GroupScores", "GroupSums", "Jackknife", "LeakGap", "Mean",
    "Pair", "PermutationTest", "Plan", "Repeated", "RepeatedSums", "ResultsComparison", "ResultsSummary",
    "ScoredImages", "Sources", "Spread", "Summary", "Sums", "Variances", "advise", "averages_table",
    "baseline_ladder", "bootstrap_t", "candidate", "check_complete", "check_one_sweep", "class_shares", "cohort",
    "column_weights", "compare", "compare_all_results", "compare_candidates", "compare_difference", "compare_results",
    "compare_weighted",
    "conformal_errors", "decay_curve", "decompose", "designs", "detectable", "detectable_difference", "diagnose",
    "difficulty_stability", "drawn_groups", "drawn_means", "drawn_repeated", "drawn_variances", "effect_spread",
    "effective_groups", "equal_group_estimates", "equal_row_estimates", "external_drop", "false_alarms",
    "feature_correlations", "feature_regression", "fold_differences", "fold_estimate", "fold_statistics",
    "fold_summary", "fold_table", "folds_differ", "frozen_estimates", "gaffke", "group_difference",
    "group_features", "group_pooled_scores", "group_profile", "group_scores", "group_sums_of", "group_table",
    "grouping_verdict", "groups_differ", "groups_of_images", "half_width", "hoeffding", "holm", "image_means",
    "interval_cautions", "intraclass_correlation", "jackknife", "leak_gap", "mean_of", "missing_cells",
    "model_factor", "next_step", "own_seeds", "paired_difference", "percentile_estimates", "plan",
    "pooled_difference", "pooled_estimates", "pooled_mean", "product", "rank_correlation", "rank_probabilities",
    "read_results", "repeated_sums", "repeated_variances", "rest_commands", "results_table", "row_mean_of",
    "score_cautions", "scored_images", "sign_flip", "sources_of", "spread_of", "spread_of_difference", "student_t",
    "summarise", "summarise_results", "sums_of_squares", "table_groups", "trace_df", "train_beside_held_out",
    "training_distance", "trivial_baseline", "two_sided", "undefined_table", "variances", "weights_of",
]

"""Choose inside, judge outside: the nested protocol over anything that can fit, calibrate and predict; its ledger.

    plan = plan_nested(groups, outer, inner=..., calibration=...)
    result = run_nested(plan, candidates, rows, fallback=...)
    result.mean_loss, result.choices, result.counts, result.ledger

Knows no network, no image and no configuration: losses may be floats or exact fractions. What fits receives the rows of
its role and cannot reach others; the ledger is written from what was read, not from the plan.
"""

from segcv.nesting.choosing import Choice, chosen
from segcv.nesting.cutting import balanced_inner_folds, drawn_halves, missing_class
from segcv.nesting.keeping import OUTCOME, read_outcome, write_outcome
from segcv.nesting.ledger import BASE, CALIBRATION, INNER, OUTER, Ledger, refuse_shared_groups
from segcv.nesting.outer import (
    choices_table,
    group_scores_table,
    inner_mean,
    inner_table,
    outer_estimates,
    reliability_table,
)
from segcv.nesting.plan import (
    FitPlan,
    Halves,
    InnerFolds,
    NestedPlan,
    OuterPlan,
    Parts,
    plan_final,
    plan_nested,
    take_turns,
)
from segcv.nesting.protocol import (
    FitCounts,
    FitOutcome,
    NestedResult,
    OuterResult,
    Pipeline,
    RoleRows,
    run_fit,
    run_fold,
    run_nested,
)

__all__ = [
    "BASE", "CALIBRATION", "INNER", "OUTCOME", "OUTER", "Choice", "FitCounts", "FitOutcome", "FitPlan", "Halves",
    "InnerFolds", "Ledger", "NestedPlan", "NestedResult", "OuterPlan", "OuterResult", "Parts", "Pipeline",
    "RoleRows", "balanced_inner_folds", "choices_table", "chosen", "drawn_halves", "group_scores_table",
    "inner_mean", "inner_table", "missing_class", "outer_estimates", "plan_final", "plan_nested", "read_outcome",
    "refuse_shared_groups", "reliability_table", "run_fit", "run_fold", "run_nested", "take_turns", "write_outcome",
]

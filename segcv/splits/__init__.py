"""Who is held out, who trains, who is neither: from an images table with groups to a roles table and its folder.

`cut_roles` cuts by a splitter of SPLITTERS, `check_roles` is the contract every roles table keeps, `write_split` and
`read_split` keep a split as a folder that is refused once it or its table has changed.
"""

from segcv.splits.balance import balance_floor, balance_table, left_out
from segcv.splits.checks import check_roles, groups_on_two_sides
from segcv.splits.choices import Choices, refuse_without_effect
from segcv.splits.cutting import check_choices, cut_roles
from segcv.splits.elsewhere import roles_from_folds, roles_from_table
from segcv.splits.folder import Split, check_split_fits, fold_roles, read_split, split_id_of, write_split
from segcv.splits.given_lists import ids_by_name
from segcv.splits.ground import (
    PIXEL_SIZE,
    PLACE,
    Ground,
    ground_of,
    groups_on_shared_ground,
    local_coordinates,
    near_pairs,
    overlaps_on_ground,
    shared_areas,
    shared_ground,
)
from segcv.splits.inner import inner_fold, inner_holdout, nested_roles
from segcv.splits.scikit_style import ScikitSplitter
from segcv.splits.splitters import SPLITTERS, Splitter
from segcv.splits.times import times_of, times_text

__all__ = [
    "PIXEL_SIZE", "PLACE", "SPLITTERS", "Choices", "Ground", "ScikitSplitter", "Split", "Splitter", "balance_floor",
    "balance_table", "check_choices", "check_roles", "check_split_fits", "cut_roles", "fold_roles", "ground_of",
    "groups_on_shared_ground", "groups_on_two_sides", "ids_by_name", "inner_fold", "inner_holdout", "left_out",
    "local_coordinates", "near_pairs", "nested_roles", "overlaps_on_ground", "read_split", "refuse_without_effect",
    "roles_from_folds", "roles_from_table", "shared_areas", "shared_ground", "split_id_of", "times_of", "times_text",
    "write_split",
]

"""Who belongs together: a column, a file-name pattern, verified near-duplicates, shared ground, else each image alone.

`assign_groups` fills the group of every image and keeps the evidence; the other names are its parts, for audits.
Hashes and thumbnails come from the room pixels as a table; no image file is opened here.
"""

from segcv.groups.assigning import assign_groups
from segcv.groups.candidates import (
    AUTO,
    candidate_groupings,
    near_duplicate_sensitivity,
    proposed_pattern,
    rank_groupings,
)
from segcv.groups.given import given_groups
from segcv.groups.hamming import diameter, hamming_components, hamming_matches, hamming_pairs
from segcv.groups.levels import Levels, coarser_levels, names_an_entity
from segcv.groups.looks import clusters, near_duplicate_pairs
from segcv.groups.names import NAME_PATTERNS, name_groups
from segcv.groups.overlaps import overlapping_pairs
from segcv.groups.places import (
    Places,
    places_by_columns,
    places_by_georeference,
    places_by_names,
    places_by_numbers,
)

__all__ = [
    "AUTO", "NAME_PATTERNS", "Levels", "Places", "assign_groups", "candidate_groupings", "clusters", "coarser_levels",
    "diameter", "given_groups", "hamming_components", "hamming_matches", "hamming_pairs", "name_groups",
    "names_an_entity", "near_duplicate_pairs", "near_duplicate_sensitivity", "overlapping_pairs", "places_by_columns",
    "places_by_georeference", "places_by_names", "places_by_numbers", "proposed_pattern", "rank_groupings",
]

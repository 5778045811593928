"""Who belongs together: a column, a file-name pattern, verified near-duplicates, shared ground, else each image alone.

`assign_groups` fills the group of every image and keeps the evidence; the other names are its parts, for audits.
Hashes and thumbnails come from the room pixels as a table; no image file is opened here.
"""

from segcv.groups.assigning import assign_groups
from segcv.groups.hamming import diameter, hamming_matches, hamming_pairs
from segcv.groups.looks import clusters, near_duplicate_pairs
from segcv.groups.names import NAME_PATTERNS, name_groups
from segcv.groups.overlaps import overlapping_pairs

__all__ = [
    "NAME_PATTERNS", "assign_groups", "clusters", "diameter", "hamming_matches", "hamming_pairs", "name_groups",
    "near_duplicate_pairs", "overlapping_pairs",
]

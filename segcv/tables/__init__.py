"""The tables that flow through segcv: their one Schema each, reading, checking, writing, and names from content.

Ids are text and blanks are "", numbers that are undefined are NaN. Files are written beside and then renamed.
"""

from segcv.tables.appending import appending
from segcv.tables.files import make_once, read_json, replacing, write_json, write_text
from segcv.tables.identity import file_id, fingerprint, stream
from segcv.tables.images import (
    IMAGE_SUFFIXES,
    find_images,
    image_id_of,
    list_images,
    one_form,
    pair_folders,
    read_images,
    write_images,
)
from segcv.tables.layouts import (
    CONFUSION,
    EXCLUDED,
    FINDINGS,
    HELD_OUT,
    HISTOGRAMS,
    HISTORY,
    IMAGE_FACTS,
    IMAGE_PROFILE,
    IMAGES,
    LEDGER,
    MASK_PROFILE,
    ROLES,
    SCORES,
    TRAIN,
)
from segcv.tables.locks import held, owner
from segcv.tables.named_files import named_files
from segcv.tables.progress import Progress, quiet
from segcv.tables.schema import Column, Schema, read_csv

__all__ = [
    "CONFUSION", "EXCLUDED", "FINDINGS", "HELD_OUT", "HISTOGRAMS", "HISTORY", "IMAGES", "IMAGE_FACTS", "IMAGE_PROFILE",
    "IMAGE_SUFFIXES", "LEDGER", "MASK_PROFILE", "ROLES", "SCORES", "TRAIN", "Column", "Progress", "Schema", "appending",
    "file_id", "find_images", "fingerprint", "held", "image_id_of", "list_images", "make_once", "named_files",
    "one_form", "owner", "pair_folders", "quiet", "read_csv", "read_images", "read_json", "replacing", "stream",
    "write_images", "write_json", "write_text",
]

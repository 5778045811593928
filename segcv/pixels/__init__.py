"""Pictures on disk and what they mean: images, masks and label maps, the check of a whole data set, preprocessing.

The only room that opens an image or mask file. Images are H x W x bands in their stored range; label arrays are H x W,
class ids 0..C-1 and `LabelMap.void`. What is fitted (Preprocessing) opens the rows it is given and no other.
"""

from segcv.pixels.agreement import rectangles_agree
from segcv.pixels.annotation_entries import annotations_id, labels_found
from segcv.pixels.annotation_rules import AnnotationRules, annotation_rules
from segcv.pixels.converting import Conversion, convert_annotations
from segcv.pixels.declared import infer_label_map, label_map
from segcv.pixels.decoded import Decoded, decoded_pairs
from segcv.pixels.files import MAX_PIXELS
from segcv.pixels.flight_strips import CLASS_NAMES as FLIGHT_STRIP_CLASSES
from segcv.pixels.flight_strips import write_flight_strips
from segcv.pixels.georeference import georeferences, has_georeferences
from segcv.pixels.image_windows import OpenImage, open_image, write_raster
from segcv.pixels.labels import LabelMap
from segcv.pixels.looks import Look, look
from segcv.pixels.mask_counts import MaskCounts, count_masks
from segcv.pixels.mask_looks import MaskLook, mask_look
from segcv.pixels.moments import valid_pixels
from segcv.pixels.pictures import class_colours, difference_panels, picture_panels, picture_row
from segcv.pixels.predicted import PredictedCoding, predicted_coding
from segcv.pixels.preprocessing import (
    STATISTICS,
    BandMoments,
    Preprocessing,
    fit_preprocessing,
    own_moments,
)
from segcv.pixels.profile import Profile, changed_images, check_data, class_pixels, data_id, refuse_unlabelled
from segcv.pixels.reading import read_image
from segcv.pixels.volumes import read_volume
from segcv.pixels.windows import OpenMask, open_mask
from segcv.pixels.writing import thumbnail, write_mask

__all__ = [
    "FLIGHT_STRIP_CLASSES", "MAX_PIXELS", "STATISTICS", "AnnotationRules", "BandMoments", "Conversion", "Decoded",
    "LabelMap", "Look", "MaskCounts", "MaskLook", "OpenImage", "OpenMask", "PredictedCoding", "Preprocessing",
    "Profile", "annotation_rules", "annotations_id", "changed_images", "check_data", "class_colours", "class_pixels",
    "convert_annotations", "count_masks", "data_id", "decoded_pairs", "difference_panels", "fit_preprocessing",
    "georeferences", "has_georeferences", "infer_label_map", "label_map", "labels_found", "look", "mask_look",
    "open_image", "open_mask", "own_moments", "picture_panels", "picture_row", "predicted_coding", "read_image",
    "read_volume", "rectangles_agree", "refuse_unlabelled", "thumbnail", "valid_pixels", "write_flight_strips",
    "write_mask", "write_raster",
]

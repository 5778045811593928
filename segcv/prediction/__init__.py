"""Run a fitted network: any image size, tiles with smooth overlap, and a refusal of images that break its contract.

    for found in predict(network, rows, preprocessing=preprocessing):
        found.image_id, found.labels        # H x W class ids at the image's own size

`load_members` and `predict_members` run what was delivered (calibrated, also an ensemble), `predicted_rows` rasters of
any size; `compare_serving` explains what a service feeds its model; `export_onnx` writes and checks.
"""

from segcv.prediction.contract import contract_faults
from segcv.prediction.effects import effect_of_serving, export_onnx, network_probabilities, require_onnx
from segcv.prediction.members import DELIVERED, Members, load_members, predict_members
from segcv.prediction.predicting import Prediction, predict
from segcv.prediction.serving import ServingDifference, compare_serving
from segcv.prediction.tiles import Tile, tiles
from segcv.prediction.windowed import predicted_rows, raster_moments

__all__ = [
    "DELIVERED", "Members", "Prediction", "ServingDifference", "Tile", "compare_serving", "contract_faults",
    "effect_of_serving", "export_onnx", "load_members", "network_probabilities", "predict", "predict_members",
    "predicted_rows", "raster_moments", "require_onnx", "tiles",
]

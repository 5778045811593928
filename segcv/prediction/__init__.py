"""Run a fitted network: any image size, tiles with smooth overlap, and a refusal of images that break its contract.

    for found in predict(network, rows, preprocessing=preprocessing):
        found.image_id, found.labels        # H x W class ids at the image's own size
"""

from segcv.prediction.predicting import Prediction, predict
from segcv.prediction.tiles import Tile, tiles

__all__ = ["Prediction", "Tile", "predict", "tiles"]

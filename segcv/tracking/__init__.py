"""Where training can be followed: TensorBoard files, MLflow, Weights & Biases, as many as one likes.

    with tracked(["tensorboard"], folder=folder, run_id=run_id, settings=settings) as tell:
        tell.numbers({"train/loss": 0.3}, step=12)
        tell.pictures({"samples/strip03_01": picture}, step=12)      # H x W x 3, uint8

Nothing here reaches the run: a tracker that fails is warned of once and left out from then on.
"""

from segcv.tracking.choosing import TRACKERS, refuse_trackers
from segcv.tracking.telling import Tell, tracked

__all__ = ["TRACKERS", "Tell", "refuse_trackers", "tracked"]

"""Fit one network on one list of images: the same arguments give the same bits, and only these images are opened.

    fitted = fit(rows, labels=labels, preprocessing=preprocessing, seeds=run_seeds(0, repeat=0, fold=2), out=folder)
    save_model(folder / "model", fitted.network, choice=ModelChoice(), labels=labels, preprocessing=preprocessing)

Loads torch. Seeds are set here and nowhere else; nothing is printed, `watch` is told of each step.

`ScoreMetric`, for use inside a loop of one's own, is loaded when it is asked for: it needs the extra torchmetrics.
"""

from typing import TYPE_CHECKING, Any

from segcv.training.augment import PIPELINES, Augmentation
from segcv.training.calibration import CALIBRATIONS, THRESHOLDS, Calibration, CalibrationImages
from segcv.training.checkpoints import remove_checkpoints
from segcv.training.cropping import Cropping
from segcv.training.data import NetworkInput
from segcv.training.determinism import chosen_device, chosen_precision, environment, pinned
from segcv.training.loader_audit import LoaderAudit, audit_loader
from segcv.training.looking import Look
from segcv.training.loop import CHECKPOINT, EpochInfo, Fit, StepInfo, fit
from segcv.training.losses import LOSSES, WEIGHTINGS, build_loss, class_weights
from segcv.training.mixing import Mixing
from segcv.training.models import MODELS, ModelChoice, Network, build_model
from segcv.training.pretrained import require_weights
from segcv.training.saved import SavedModel, load_model, read_calibration, save_model, write_calibration
from segcv.training.schedules import SCHEDULES, learning_rate
from segcv.training.seeds import EpochSampler, Seeds, run_seeds
from segcv.training.stopping import Stopping
from segcv.training.windows import next_multiple, padded

if TYPE_CHECKING:
    from segcv.training.score_metric import ScoreMetric

__all__ = [
    "CALIBRATIONS", "CHECKPOINT", "LOSSES", "MODELS", "PIPELINES", "SCHEDULES", "THRESHOLDS", "WEIGHTINGS",
    "Augmentation", "Calibration", "CalibrationImages", "Cropping", "EpochInfo", "EpochSampler", "Fit", "LoaderAudit",
    "Look", "Mixing", "ModelChoice", "Network", "NetworkInput", "SavedModel", "ScoreMetric", "Seeds", "StepInfo",
    "Stopping", "audit_loader", "build_loss", "build_model", "chosen_device", "chosen_precision", "class_weights",
    "environment", "fit", "learning_rate", "load_model", "next_multiple", "padded", "pinned", "read_calibration",
    "remove_checkpoints", "require_weights", "run_seeds", "save_model", "write_calibration",
]


def __getattr__(name: str) -> Any:
    if name == "ScoreMetric":
        from segcv.training.score_metric import ScoreMetric

        return ScoreMetric
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

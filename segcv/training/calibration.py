"""Maps from a network's probabilities to honest ones, and thresholds, fitted on the images of role C only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ConfigError, TrainingError
from segcv.metrics import probability_histogram
from segcv.tables import fingerprint, stream

CALIBRATIONS = ("none", "temperature", "class_temperature", "vector", "isotonic")
THRESHOLDS = ("none", "iou", "dice")
PIXELS_PER_IMAGE = 4096
FLOOR = 1e-7        # probabilities are kept above it before their logarithm is taken
STEPS = 256         # probabilities are told apart as k/255


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was learned on C: `scale` and `bias` of the log probabilities, or a `table` per class; a threshold.

    q = softmax(scale * log p + bias), per class; or q_c = table_c[round(255 p_c)], made to add to one. `threshold`, for
    two classes, is on the network's own probability of class 1, in steps of 1/255; None: the most probable class.
    """

    method: str = "none"
    scale: tuple[float, ...] = ()
    bias: tuple[float, ...] = ()
    table: tuple[tuple[float, ...], ...] = ()
    threshold: float | None = None
    images: int = 0
    fitted_on: str = ""                  # fingerprint of the sorted ids of the images that were read

    def probabilities(self, p: NDArray[Any]) -> NDArray[np.float32]:
        """Calibrated probabilities, classes x H x W or classes x pixels, for those of the network."""
        shape = (-1,) + (1,) * (p.ndim - 1)
        if self.scale:
            logits = np.log(np.maximum(p, FLOOR, dtype=np.float32))
            logits = logits * np.array(self.scale, np.float32).reshape(shape)
            logits += np.array(self.bias, np.float32).reshape(shape)
            q = np.exp(logits - logits.max(axis=0))
        elif self.table:
            level = np.rint(p * (STEPS - 1)).astype(np.intp)
            q = np.stack([np.array(row, np.float32)[at] for row, at in zip(self.table, level, strict=True)])
            q = np.where(q.sum(axis=0) > 0, q, p)
        else:
            return p.astype(np.float32)
        shares: NDArray[np.float32] = (q / q.sum(axis=0)).astype(np.float32)
        return shares

    def labels(self, p: NDArray[Any]) -> NDArray[Any]:
        """Class ids, H x W, for the network's own probabilities: by the threshold, else the most probable class."""
        kind = np.uint8 if len(p) <= 255 else np.uint16
        if self.threshold is None:
            chosen: NDArray[Any] = self.probabilities(p).argmax(axis=0)
        else:
            chosen = np.rint(p[1] * (STEPS - 1)) >= round(self.threshold * (STEPS - 1))
        return np.asarray(chosen.astype(kind))

    def to_json(self) -> dict[str, Any]:
        """Plain values for a file."""
        return {"method": self.method, "scale": list(self.scale), "bias": list(self.bias),
                "table": [list(row) for row in self.table], "threshold": self.threshold, "images": self.images,
                "fitted_on": self.fitted_on}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Calibration:
        """The calibration that `to_json` wrote."""
        return cls(data["method"], tuple(data["scale"]), tuple(data["bias"]), tuple(map(tuple, data["table"])),
                   data["threshold"], data["images"], data["fitted_on"])


class CalibrationImages:
    """Collects what the fit of a calibration needs from the images of C, one at a time, without keeping pixels.

    Of each image at most 4,096 pixels are drawn for the likelihood, so that images weigh alike; histograms are of all.
    """

    def __init__(self, *, n_classes: int, void: int | None, root: int) -> None:
        self.n_classes, self.void, self.root = n_classes, void, root
        self._log_p: list[NDArray[np.float32]] = []
        self._truth: list[NDArray[np.int64]] = []
        self._histograms: dict[str, NDArray[np.int64]] = {}
        self._groups: dict[str, str] = {}

    def add(self, image_id: str, group_id: str, probabilities: NDArray[Any], truth: NDArray[Any]) -> None:
        """One image of C: the network's probabilities, classes x H x W, and the truth, H x W."""
        if image_id in self._histograms:
            raise TrainingError(f"{image_id} was given to the calibration twice; each image counts once.")
        self._histograms[image_id] = probability_histogram(truth, probabilities, void=self.void)[:-1]
        self._groups[image_id] = group_id
        valid = np.flatnonzero(truth != self.void) if self.void is not None else np.arange(truth.size)
        if len(valid) > PIXELS_PER_IMAGE:
            rng = np.random.default_rng(stream(self.root, "calibration", image_id))
            valid = np.sort(rng.choice(valid, PIXELS_PER_IMAGE, replace=False))
        flat = probabilities.reshape(self.n_classes, -1)[:, valid]
        self._log_p.append(np.log(np.maximum(flat, FLOOR)).astype(np.float32))
        self._truth.append(truth.reshape(-1)[valid].astype(np.int64))

    def fit(self, method: str, *, threshold: str = "none") -> Calibration:
        """The calibration of the images added so far, whatever their order.

        `temperature`: one scale; `class_temperature`: one per class; `vector`: a scale and a bias per class (Guo et al.
        2017), all by maximum likelihood; `isotonic`: a rising step function per class on k/255 (Zadrozny & Elkan 2002).
        `threshold`, for two classes: the cut with the best mean over groups of the images' IoU or Dice of class 1;
        of equal cuts the one nearest to 1/2.

        Raises:
            ConfigError: an unknown method, or a threshold with other than two classes.
            TrainingError: no image, or no labelled pixel.
        """
        if method not in CALIBRATIONS:
            raise ConfigError(f"calibration {method!r} is not known; use one of {', '.join(CALIBRATIONS)}.")
        if threshold not in THRESHOLDS:
            raise ConfigError(f"threshold {threshold!r} is not known; use one of {', '.join(THRESHOLDS)}.")
        if threshold != "none" and self.n_classes != 2:
            raise ConfigError(f"threshold={threshold} is for two classes, and there are {self.n_classes}: the most "
                              "probable class is taken. Leave the threshold out.")
        ids = list(self._histograms)
        order = sorted(range(len(ids)), key=lambda at: ids[at])
        if not order or not sum(len(self._truth[at]) for at in order):
            raise TrainingError("there is no labelled pixel to calibrate on. Give the calibration more groups.")
        log_p = np.concatenate([self._log_p[at] for at in order], axis=1).astype(np.float64)
        truth = np.concatenate([self._truth[at] for at in order])
        scale: tuple[float, ...] = ()
        bias: tuple[float, ...] = ()
        table: tuple[tuple[float, ...], ...] = ()
        if method in ("temperature", "class_temperature", "vector"):
            scale, bias = _scaled(log_p, truth, method)
        elif method == "isotonic":
            table = _isotonic(np.sum(list(self._histograms.values()), axis=0))
        cut = None if threshold == "none" else self._threshold(threshold)
        return Calibration(method, scale, bias, table, cut, len(order), fingerprint(sorted(self._histograms)))

    def _threshold(self, rule: str) -> float:
        ids = sorted(self._histograms)
        wrong, right = np.stack([self._histograms[image_id][1] for image_id in ids], axis=1)     # images x 256 each
        tp, fp = (_at_least(part) for part in (right, wrong))                                    # images x cuts
        fn = right.sum(axis=1, keepdims=True) - tp
        over = tp + fp + fn if rule == "iou" else 2 * tp + fp + fn
        score = np.divide(tp if rule == "iou" else 2 * tp, over, out=np.full(over.shape, np.nan), where=over > 0)
        groups = np.array([self._groups[image_id] for image_id in ids])
        means = np.stack([_mean_defined(score[groups == group]) for group in np.unique(groups)])
        curve = np.where(np.isnan(means).all(axis=0), -1.0, _mean_defined(means))
        best = np.flatnonzero(curve == curve.max())
        return float(best[np.argmin(np.abs(best / (STEPS - 1) - 0.5))] / (STEPS - 1))


def _at_least(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Pixels at or above each level, images x 256."""
    return np.asarray(counts[:, ::-1].cumsum(axis=1)[:, ::-1])


def _mean_defined(values: NDArray[np.float64]) -> NDArray[np.float64]:
    number = np.isfinite(values).sum(axis=0)
    mean = np.full(values.shape[1], np.nan)
    return np.asarray(np.divide(np.nansum(values, axis=0), number, out=mean, where=number > 0))


def _scaled(log_p: NDArray[np.float64], truth: NDArray[np.int64],
            method: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Scale and bias per class with the greatest likelihood; scales are kept positive, so that order is kept."""
    from scipy.optimize import minimize

    n_classes, pixels = log_p.shape
    hits = np.zeros_like(log_p)
    hits[truth, np.arange(pixels)] = 1.0

    def unpacked(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        scale = np.exp(np.repeat(x[:1], n_classes) if method == "temperature" else x[:n_classes])
        return scale, x[n_classes:] if method == "vector" else np.zeros(n_classes)

    def loss(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scale, bias = unpacked(x)
        logits = scale[:, None] * log_p + bias[:, None]                          # classes x pixels
        top = logits.max(axis=0)
        log_sum = top + np.log(np.exp(logits - top).sum(axis=0))
        error = (np.exp(logits - log_sum) - hits) / pixels
        d_scale = (error * log_p).sum(axis=1) * scale                            # by the log of the scale
        steps = d_scale.sum(keepdims=True) if method == "temperature" else d_scale
        gradient = np.concatenate([steps, error.sum(axis=1)]) if method == "vector" else steps
        return float((log_sum - (logits * hits).sum(axis=0)).mean()), gradient

    free = {"temperature": 1, "class_temperature": n_classes, "vector": 2 * n_classes}[method]
    scales = min(free, n_classes)
    bounds = [(-4.0, 4.0)] * scales + [(-20.0, 20.0)] * (free - scales)
    found = minimize(loss, np.zeros(free), jac=True, method="L-BFGS-B", bounds=bounds,
                     options={"ftol": 1e-12, "gtol": 1e-8, "maxiter": 500})
    scale, bias = unpacked(found.x)
    return tuple(scale.tolist()), tuple(bias.tolist())


def _isotonic(histogram: NDArray[np.int64]) -> tuple[tuple[float, ...], ...]:
    """The rising share of right pixels at each level, for each class of classes x 2 x 256."""
    from sklearn.isotonic import IsotonicRegression

    levels, rows = np.arange(STEPS) / (STEPS - 1), []
    for wrong, right in histogram:
        seen = (wrong + right) > 0
        if not seen.any():
            rows.append(tuple(levels.tolist()))
            continue
        fit = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        fit.fit(levels[seen], right[seen] / (wrong + right)[seen], sample_weight=(wrong + right)[seen])
        rows.append(tuple(fit.predict(levels).tolist()))
    return tuple(rows)

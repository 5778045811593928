"""HD95 with NSD, and Boundary IoU, of 512 x 512 masks, in one thread (seconds of its CPU), beside what people use."""

from __future__ import annotations

import os
import statistics
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version

os.environ["RAYON_NUM_THREADS"] = "1"        # mikan-rs reads it when it is loaded

import edt
import mikan
import monai.metrics
import numpy as np
import surface_distance
import torch
from benches.label_maps import read_pass
from benches.outlines import Mask, Pair, blob_pair, stress_pairs
from benches.rows import Row, at_least, at_most, fastest, ratio, seconds
from medpy.metric import binary as medpy
from scipy import ndimage

from segcv.metrics import border_distances, boundary_iou, hd95_max, nsd, surface_distances

SIDE, PAIRS, SPACING, TOLERANCE = 512, 64, (0.7, 1.3), 2.0
Measure = Callable[[Pair], tuple[float, float]]        # a pair of masks -> HD95, NSD


def ours(pair: Pair) -> tuple[float, float]:
    distances = border_distances(*pair, spacing=SPACING)
    return hd95_max(distances), nsd(distances, tolerance=TOLERANCE)


def ours_by_surface(pair: Pair) -> tuple[float, float]:
    distances = surface_distances(*pair, spacing=SPACING)
    return hd95_max(distances), nsd(distances, tolerance=TOLERANCE)


def of_monai(pair: Pair) -> tuple[float, float]:
    truth, prediction = (torch.from_numpy(mask)[None, None] for mask in pair)
    choices = {"include_background": True, "spacing": list(SPACING)}
    return (float(monai.metrics.compute_hausdorff_distance(prediction, truth, percentile=95, **choices)),
            float(monai.metrics.compute_surface_dice(prediction, truth, [TOLERANCE], **choices)))


def of_deepmind(pair: Pair) -> tuple[float, float]:
    distances = surface_distance.compute_surface_distances(*pair, SPACING)
    return (float(surface_distance.compute_robust_hausdorff(distances, 95)),
            float(surface_distance.compute_surface_dice_at_tolerance(distances, TOLERANCE)))


def of_medpy(pair: Pair) -> tuple[float, float]:
    return float(medpy.hd95(pair[1], pair[0], voxelspacing=SPACING)), float("nan")


def of_mikan(pair: Pair) -> tuple[float, float]:
    """It has volumes only, and fails on one slice: of two equal ones, half the time is counted."""
    volumes = [np.ascontiguousarray(np.broadcast_to(mask.astype(np.uint8), (2, *mask.shape))) for mask in pair]
    evaluator = mikan.ArrayEvaluator(*volumes, (SPACING[1], SPACING[0], 1.0))
    return float(evaluator.labels([1]).metrics(["hd95", "assd"])[0]), float("nan")


def by_transform(distances_to: Callable[[Mask], np.ndarray]) -> Measure:
    """The usual few lines: erode, transform the smallest window that holds both, look up."""
    def measure(pair: Pair) -> tuple[float, float]:
        borders = [mask & ~ndimage.binary_erosion(mask) for mask in pair]
        if not (borders[0].any() and borders[1].any()):
            return float("inf"), 0.0
        window = ndimage.find_objects((borders[0] | borders[1]).view(np.int8))[0]
        first, second = (edge[window] for edge in borders)
        directed = distances_to(second)[first], distances_to(first)[second]
        near = sum(int((values <= TOLERANCE).sum()) for values in directed)
        return (max(float(np.percentile(values, 95)) for values in directed),
                near / sum(values.size for values in directed))
    return measure


MONAI, DEEPMIND = f"MONAI {version('monai')}", f"surface-distance {version('surface-distance-based-measures')}"
MIKAN, MEDPY = f"mikan-rs {version('mikan-rs')}", f"MedPy {version('medpy')}"
SCIPY, EDT = f"SciPy EDT {version('scipy')}", f"edt {version('edt')}"
RIVALS: dict[str, Measure] = {
    MIKAN: of_mikan, MONAI: of_monai, DEEPMIND: of_deepmind, MEDPY: of_medpy,
    SCIPY: by_transform(lambda border: ndimage.distance_transform_edt(~border, sampling=SPACING)),
    EDT: by_transform(lambda border: edt.edt(~border, anisotropy=SPACING, black_border=False)),
}


def rows() -> list[Row]:
    """The rows of the 64 pairs, of the error, of the stress shapes, and of Boundary IoU."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")                                 # rivals warn of empty masks
    rng = np.random.default_rng(0)
    pairs = [blob_pair(rng, SIDE) for _ in range(PAIRS)]
    return [*of_pairs(pairs), *errors(pairs, stress_pairs(rng, SIDE)), *of_stress(stress_pairs(rng, SIDE)),
            *of_bands(pairs)]


def of_pairs(pairs: Sequence[Pair]) -> list[Row]:
    taken = timed({"segcv": ours, "segcv by surface": ours_by_surface, **RIVALS}, pairs, rounds=3)
    words = [[mask.reshape(-1).view(np.uint64) for mask in pair] for pair in pairs]
    limit = seconds({"limit": lambda: [read_pass(*both) for both in words]}, rounds=9, clock=time.process_time)["limit"]
    by_surface = {"segcv": taken.pop("segcv by surface"), DEEPMIND: taken[DEEPMIND]}

    def shown(seconds_: float) -> str:
        return f"{1e3 * seconds_ / len(pairs):.3g} ms"

    work = f"HD95 + NSD, {len(pairs)} pairs {SIDE}², spacing {SPACING}"
    return [
        at_least(work, taken, MIKAN, 8, shown=shown),
        at_least(work, taken, MONAI, 20, shown=shown), at_least(work, taken, DEEPMIND, 20, shown=shown),
        *(Row(work, shown(statistics.median(taken["segcv"])), f"{name} {shown(statistics.median(taken[name]))}",
              f"{ratio(taken, name):.2f}x", "") for name in (SCIPY, EDT, MEDPY)),
        Row("- one read pass of both masks is the limit", shown(statistics.median(taken["segcv"])),
            f"limit {shown(statistics.median(limit))}",
            f"{statistics.median(limit) / statistics.median(taken['segcv']):.2f}x", ""),
        at_least(f"HD95 + NSD by surface length, {len(pairs)} pairs", by_surface, DEEPMIND, 20, shown=shown),
    ]


def of_stress(shapes: Mapping[str, Pair]) -> list[Row]:
    found = []
    for name, pair in shapes.items():
        able = {rival: measure for rival, measure in RIVALS.items() if rival != MEDPY and survives(measure, pair)}
        once = {rival: times[0] for rival, times in timed(able, [pair], rounds=1).items()}
        near = sorted(once, key=lambda rival: once[rival])[:2]
        taken = timed({"segcv": ours, **{rival: able[rival] for rival in near}}, [pair], rounds=9)
        found.append(at_least(f"stress: {name}", taken, fastest(taken), 1.5))
    return found


def timed(measures: Mapping[str, Measure], pairs: Sequence[Pair], *, rounds: int) -> dict[str, list[float]]:
    works = {name: lambda measure=measure: [measure(pair) for pair in pairs] for name, measure in measures.items()}
    taken = seconds(works, rounds=rounds, clock=time.process_time)
    if MIKAN in taken:
        taken[MIKAN] = [time / 2 for time in taken[MIKAN]]
    return taken


def survives(measure: Measure, pair: Pair) -> bool:
    """Some rivals fail on empty masks, one with a panic that is no Exception."""
    try:
        measure(pair)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return False
    return True


def errors(pairs: Sequence[Pair], shapes: Mapping[str, Pair]) -> list[Row]:
    """Largest difference of a distance from SciPy's exact transform over the whole image."""
    largest = 0.0
    for pair in [*pairs, *shapes.values()]:
        borders = [mask & ~ndimage.binary_erosion(mask) for mask in pair]
        if not (borders[0].any() and borders[1].any()):
            continue
        distances = border_distances(*pair, spacing=SPACING)
        for mine, at, to in ((distances.from_truth, 0, 1), (distances.from_prediction, 1, 0)):
            exact = ndimage.distance_transform_edt(~borders[to], sampling=SPACING)[borders[at]]
            largest = max(largest, float(np.abs(mine - exact).max()))
    return [at_most("largest error of a border distance", largest, 1e-9, unit="", rival=SCIPY)]


def of_bands(pairs: Sequence[Pair]) -> list[Row]:
    """The band as its authors make it: one erosion by 3 x 3 after another, with a rim of background."""
    import cv2

    depth = max(1, round(0.02 * float(np.hypot(SIDE, SIDE))))

    def band(mask: Mask) -> np.ndarray:
        padded = cv2.copyMakeBorder(mask.astype(np.uint8), 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
        return mask & ~cv2.erode(padded, np.ones((3, 3), np.uint8), iterations=depth)[1:-1, 1:-1].astype(bool)

    def reference(pair: Pair) -> float:
        bands = [band(mask) for mask in pair]
        return float((bands[0] & bands[1]).sum() / (bands[0] | bands[1]).sum())

    works = {"segcv": lambda: [boundary_iou(*pair) for pair in pairs],
             "repeated erosion": lambda: [reference(pair) for pair in pairs]}
    taken = seconds(works, rounds=5, clock=time.process_time)
    different = sum(boundary_iou(*pair) != reference(pair) for pair in pairs)
    return [at_least(f"Boundary IoU, {len(pairs)} pairs {SIDE}²", taken, "repeated erosion", 1,
                     shown=lambda value: f"{1e3 * value / len(pairs):.3g} ms"),
            at_most("Boundary IoU: pairs that differ", different, 0, unit="pairs")]

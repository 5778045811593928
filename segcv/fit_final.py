"""python -m segcv.fit_final candidates=[a,b]: the choice that nested judges, made on all groups, to be delivered."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segcv.config import as_dict, candidates_of, command, overrides, progress_bar
from segcv.errors import ConfigError, RunError
from segcv.settings import FinalCommand

if TYPE_CHECKING:
    from segcv.candidates import Evaluation

REPORT, JUDGED = "delivered.md", "report/summary.json"


@command("fit_final")
def main(settings: FinalCommand) -> None:
    """Choose on inner folds of all groups, refit, deliver; or deliver the fold models of a nested evaluation as one."""
    from segcv.candidates import choice_of, make_fit, open_evaluation, outcome_of, sweep_fits

    if settings.onnx:
        from segcv.prediction import require_onnx

        require_onnx()
    target = Path(settings.models) / settings.name
    candidates = candidates_of(settings, "fit_final")
    evaluation = open_evaluation(settings, candidates, delivered=True, progress=progress_bar,
                                 plain={name: plain_settings(one) for name, one in candidates.items()})
    if settings.fit is not None:
        make_fit(evaluation, settings.fit, progress=progress_bar)
        return
    if target.exists():
        raise ConfigError(f"{target} is there already, and a delivered model is never written over. Name another: "
                          "name=NAME")
    if settings.ensemble is not None:
        members, told = fold_members(Path(settings.ensemble))
        judged = Path(settings.ensemble) / JUDGED
    else:
        again = [sys.executable, "-m", "segcv.fit_final",
                 *(entry for entry in overrides() if not entry.startswith(("slots=", "onnx=", "models=")))]
        (fold,) = evaluation.plans[0].folds
        sweep_fits(evaluation, [(0, fit, name) for fit in fold.inner for name in candidates], command=again,
                   shown=sys.stderr)
        winner = choice_of(evaluation, 0, fold.outer)
        sweep_fits(evaluation, [(0, fold.final, winner)], command=again, shown=sys.stderr)
        made = outcome_of(evaluation, 0, fold.final, winner)
        if made.fallback:
            raise RunError(f"there is no model to deliver: {made.fallback}, and the fallback would answer. Give more "
                           "groups, or set inner.calibration_share=0.")
        members = [evaluation.folder(0, fold.final, winner) / "model"]
        told = [f"Chosen: {winner}, among {', '.join(candidates)}, by {len(fold.inner)} inner folds of all "
                f"{sum(map(len, (fold.final.parts.base, fold.final.parts.calibration)))} groups.",
                f"Fitted on {len(fold.final.parts.base)} groups; {len(fold.final.parts.calibration)} were kept for "
                "calibration" + ("." if made.counts.calibrations else ", and this candidate learns nothing on them.")]
        judged = evaluation.home / JUDGED
    deliver(evaluation, members, told, judged, target)
    if settings.onnx:
        worst = exported(evaluation, target)
        print(f"ONNX: {target / 'model.onnx'} (probabilities differ from torch by at most {worst:.2g})")
    print(f"Model: {target}")
    print(f"Predict: python -m segcv.predict model={target} images=FOLDER")


def plain_settings(settings: FinalCommand) -> dict[str, Any]:
    """The settings that nested has too, so that both give one evaluation the same id."""
    return {name: value for name, value in as_dict(settings).items() if name not in ("models", "ensemble", "onnx")}


def fold_members(home: Path) -> tuple[list[Path], list[str]]:
    """The models of the judged refits below a nested evaluation, and what to say of them."""
    found = sorted(home.glob("fits/repeat-*/outer-*/final/*/model"))
    if not found:
        raise RunError(f"{home} holds no fold models. Name the folder of a nested evaluation: ensemble=nested/NAME-ID")
    return found, [f"An ensemble of the {len(found)} fold models; the mean of their calibrated probabilities answers.",
                   f"It costs {len(found)} times the time and memory of one model. The outer score judged each of them "
                   "on groups it had not seen; the ensemble as a whole was judged by nobody."]


def deliver(evaluation: Evaluation, members: list[Path], told: list[str], judged: Path, target: Path) -> None:
    """Copy the members into `target` with a page that says what they are; the folder appears when it is whole."""
    from segcv import __version__
    from segcv.prediction import DELIVERED
    from segcv.tables import read_json, write_json, write_text

    outer = read_json(judged) if judged.is_file() else None
    if outer is None:
        score = ("No outer score is on record for this recipe. Judge it first: python -m segcv.nested with the same "
                 "settings.")
    else:
        estimate = outer["outer"]
        sure = "" if estimate["low"] is None else f" ({estimate['low']:.3f} to {estimate['high']:.3f}, 95 %)"
        score = (f"The outer score of the recipe is {outer['unit']} {estimate['value']:.3f}{sure} over "
                 f"{estimate['groups']} groups" + (" - EXPLORATORY" if outer["exploratory"] else "") + f" ({judged}).")
    limits = ("The outer score judges the recipe: choosing, fitting and calibrating as was done here, on other groups. "
              "This model itself has no independent test, because every group was used to make it.")
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
    try:
        names = []
        for number, member in enumerate(members):
            name = "model" if len(members) == 1 else f"members/{number}"
            shutil.copytree(member, beside / name)
            names.append(name)
        study = evaluation.study
        write_json(beside / DELIVERED, {
            "members": names, "evaluation": evaluation.config_id, "data_id": study.split.data_id,
            "split_id": study.split.split_id, "classes": list(study.labels.names), "code_version": __version__,
            "outer": None if outer is None else outer["outer"], "made_of": [str(member) for member in members]})
        write_text(beside / REPORT, "\n\n".join([f"# Delivered model: {target.name}", *told, score, limits]) + "\n")
        beside.chmod(0o755)
        beside.rename(target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    for line in (*told, score, limits):
        print(line)


def exported(evaluation: Evaluation, target: Path) -> float:
    """Write model.onnx beside the model; the largest difference to torch on eight images of the data."""
    from segcv.pixels import read_image
    from segcv.prediction import export_onnx, load_members

    (model,) = load_members(target).models
    images = evaluation.study.split.images.sort_values("image_id")["image_path"].head(8)
    return export_onnx(model, target / "model.onnx", [read_image(Path(path)) for path in images])


if __name__ == "__main__":
    main()

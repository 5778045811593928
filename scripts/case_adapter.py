"""Runs a case (`case.json` beside small inputs) through segcv's commands and compares what came out.

The neutral names of a case are translated to settings, the commands run in an empty folder, and each expected key
is read back from the files they wrote. Knows names of settings and of results, never of cases.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from case_settings import SETTINGS, quoted
from PIL import Image

from segcv.tables import image_id_of

COMMANDS = {"split", "train", "evaluate", "aggregate", "audit"}       # those that segcv has
FOUND_AT = Path(__file__).parents[1]


@dataclass
class Outcome:
    """What the commands left: exit code, text, files."""

    case: Path
    work: Path
    code: int
    text: str
    command: str

    def only(self, pattern: str) -> Path:
        """The one file that matches."""
        found = sorted(self.work.glob(pattern))
        assert len(found) == 1, f"expected one {pattern}, found {len(found)}"
        return found[0]

    def json(self, pattern: str) -> Any:
        return json.loads(self.only(pattern).read_text(encoding="utf-8"))

    @property
    def split(self) -> Path:
        return self.only("splits/*/*/manifest.json").parent

    def folds(self) -> list[pd.DataFrame]:
        """The roles of each fold of the first repeat, in the order of the folds."""
        paths = self.split.glob("roles/repeat-0/fold-*.parquet")
        return [pd.read_parquet(path) for path in sorted(paths, key=lambda path: int(path.stem.removeprefix("fold-")))]

    def per_fold(self, role: str, column: str = "image_id") -> list[int]:
        """How many images, or groups, have the role in each fold."""
        return [int(roles.loc[roles["role"] == role, column].nunique()) for roles in self.folds()]

    def torn_groups(self) -> int:
        """Groups that are trained on and held out in some fold."""
        sides = pd.concat(self.folds()).query("role != 'excluded'").groupby(["fold", "group_id"])["role"].nunique()
        return int(sides[sides > 1].index.get_level_values("group_id").nunique())

    def reported(self, key: str) -> Any:
        """What the command's own summary calls `key`; LookupError where it calls nothing so."""
        places: list[dict[str, Any]] = []
        if self.command == "evaluate":
            return self.scored(key)
        if self.command == "audit":
            places = [self.audit(), *(one["measures"] for one in self.json("audit/findings.json"))]
        elif self.command == "split":
            places = [self.json("splits/*/*/manifest.json")]
        elif self.command == "train":
            places = [self.run(), self.preprocessing()]
        elif self.command == "aggregate":
            places = [*self.summary().get("pairs", []), self.summary(), self.summary().get("folds", {})]
        for place in places:
            if key in place:
                return place[key]
        raise LookupError(f"segcv does not report {key} yet")

    @property
    def images(self) -> pd.DataFrame:
        """The images table in the order of the case's rows."""
        images = pd.read_csv(self.split / "images.csv", dtype="str", keep_default_na=False)
        return images.set_index("image_id").loc[self.names()].reset_index()

    def names(self) -> list[str]:
        """The image ids in the order of the case's rows; in the order of the split where the case has no table."""
        if not (self.case / "dataset.csv").exists():
            return list(pd.read_csv(self.split / "images.csv", dtype="str", keep_default_na=False)["image_id"])
        rows = pd.read_csv(self.case / "dataset.csv", dtype="str", keep_default_na=False, encoding="utf-8-sig")
        return [image_id_of(path) for path in rows["image_path"].drop_duplicates()]

    def order_by_time(self) -> list[int]:
        """Row numbers from the earliest to the latest, as the split read their times."""
        return [int(row) for row in pd.to_datetime(self.images["split_time"]).argsort(kind="stable")]

    def trains_on_the_past(self) -> bool:
        """In every fold every training image is earlier than every held-out one."""
        time = pd.to_datetime(self.images.set_index("image_id")["split_time"])
        found = []
        for path in sorted(self.split.glob("roles/repeat-*/fold-*.parquet")):
            roles = pd.read_parquet(path)
            train, held_out = (time[roles.loc[roles["role"] == role, "image_id"]] for role in ("train", "held_out"))
            found.append(bool(train.max() < held_out.min()))
        return bool(found) and all(found)

    def expected(self, key: str) -> Any:
        return json.loads((self.case / "case.json").read_text(encoding="utf-8"))["expected"][key]

    def drawn_mask(self, image_path: str | None = None) -> Any:
        """The mask drawn from the annotations of an image, or of the only one."""
        image_id = "**/*" if image_path is None else Path(image_path).with_suffix("").as_posix()
        with Image.open(self.only(f".segcv/annotations/*/masks/{image_id}.png")) as mask:
            return np.asarray(mask)

    def class_at(self) -> Any:
        """The classes found at the places that the case names: [row, column, class], of one image or of each."""
        def found(image_path: str | None, places: list[list[int]]) -> list[list[int]]:
            mask = self.drawn_mask(image_path)
            return [[row, column, int(mask[row, column])] for row, column, _ in places]

        asked = self.expected("class_at")
        if isinstance(asked, dict):
            return {image_path: found(image_path, places) for image_path, places in asked.items()}
        return found(None, asked)

    def preprocessing(self) -> dict[str, Any]:
        return self.json("runs/*/repeat-*/fold-*/seed-*/model/model.json")["preprocessing"]

    def train_pixels(self, class_id: int, group: str) -> int:
        """Pixels of a class in the training images of the fold that holds the group out."""
        masks = pd.read_parquet(self.split / "mask_profile.parquet")
        for path in sorted(self.split.glob("roles/repeat-0/fold-*.parquet")):
            roles = pd.read_parquet(path)
            if group in set(roles.loc[roles["role"] == "held_out", "group_id"]):
                train = set(roles.loc[roles["role"] == "train", "image_id"])
                rows = masks["image_id"].isin(train) & masks["class_id"].eq(class_id)
                return int(masks.loc[rows, "pixels"].sum())
        raise AssertionError(f"no fold holds out {group}")

    def by_test_group(self) -> dict[str, list[float]]:
        """held-out group -> mean and SD of the first band used in that fold."""
        found = {}
        for path in sorted(self.work.glob("runs/*/repeat-*/fold-*/seed-*/model/model.json")):
            fold = int(path.parents[2].name.removeprefix("fold-"))
            roles = pd.read_parquet(self.split / f"roles/repeat-0/fold-{fold}.parquet")
            preprocessing = json.loads(path.read_text(encoding="utf-8"))["preprocessing"]
            for group in roles.loc[roles["role"] == "held_out", "group_id"].unique():
                found[group] = [preprocessing["mean"][0], preprocessing["std"][0]]
        return found

    def history(self) -> pd.DataFrame:
        return pd.read_csv(self.only("runs/*/repeat-*/fold-*/seed-*/history.csv"))

    def run(self) -> dict[str, Any]:
        return self.json("runs/*/repeat-*/fold-*/seed-*/run.json")

    def scored(self, name: str) -> Any:
        """What evaluate calls `name`; lists over images in the order of the case's rows."""
        summary = self.json("runs/*/repeat-*/fold-*/seed-*/summary.json")
        if name not in summary:
            raise LookupError(f"segcv does not report {name} yet")
        value = summary[name]
        if "per_image" not in name:
            return value
        place = {image_id: number for number, image_id in enumerate(summary["image_ids"])}
        return [value[place[name]] for name in self.names()]

    def audit(self) -> dict[str, Any]:
        return self.json("audit/summary.json")

    def blank_images(self) -> int:
        return int(self.audit()["n_blank_images"] if self.command == "audit" else
                   pd.read_parquet(self.split / "profile.parquet")["flat"].sum())

    def unlabelled_images(self) -> int:
        return int(self.audit()["n_images_without_labelled_pixels"] if self.command == "audit" else
                   self.run()["unlabelled_train_images"])

    def findings(self, *severities: str) -> list[dict[str, Any]]:
        return [one for one in self.json("audit/findings.json") if one["severity"] in severities]

    def measure(self, name: str) -> Any:
        """The number of that name in the audit's findings."""
        found = [one["measures"][name] for one in self.json("audit/findings.json") if name in one["measures"]]
        assert len(found) == 1, f"{len(found)} findings measure {name}"
        return found[0]

    def twins(self, fold: str) -> int:
        """Held-out images of a fold with a look-alike in training."""
        return next((one["measures"]["per_fold"][f"fold {fold}"] for one in self.json("audit/findings.json")
                     if one["check"] == "near_duplicates"), 0)

    def summary(self) -> dict[str, Any]:
        return self.json("report/summary.json")

    def pair(self) -> dict[str, Any]:
        """The one pair that was compared."""
        (only,) = self.summary()["pairs"]
        return dict(only)


def partition(ids: list[str]) -> list[list[int]]:
    """Row numbers that share an id, in order of their first row."""
    rows: dict[str, list[int]] = {}
    for row, group in enumerate(ids):
        rows.setdefault(group, []).append(row)
    return list(rows.values())


RESULTS: dict[str, Callable[[Outcome], Any]] = {
    "n_images": lambda out: out.audit()["n_images"] if out.command == "audit" else len(out.images),
    "pixels_per_class": lambda out: out.audit()["pixels_per_class"],
    "ignored_pixels": lambda out: out.audit()["ignored_pixels"],
    "image_hw": lambda out: out.audit()["image_sizes"][0],
    "mask_hw": lambda out: out.audit()["mask_sizes"][0],
    "mean_intensity_in_class": lambda out: out.audit()["mean_intensity_in_class"],
    "shared_fraction": lambda out: out.measure("shared_fraction"),
    "n_groups": lambda out: out.audit()["n_groups"] if out.command == "audit" else out.images["group_id"].nunique(),
    "n_findings": lambda out: len(out.findings("fail", "warn")),
    "n_warnings": lambda out: len(out.findings("warn")),
    "n_leaks": lambda out: len(out.findings("fail")),
    "n_blank_images": lambda out: out.blank_images(),
    "group_names": lambda out: sorted(out.images["group_id"].unique()),
    "same_group": lambda out: partition(out.images["group_id"].tolist()),
    "n_folds": lambda out: len(out.folds()),
    "n_empty_folds": lambda out: sum(count == 0 for count in out.per_fold("held_out")),
    "n_images_per_fold": lambda out: out.per_fold("held_out"),
    "test_images_per_fold": lambda out: out.per_fold("held_out"),
    "n_test_images_per_fold": lambda out: out.per_fold("held_out"),
    "train_images_per_fold": lambda out: out.per_fold("train"),
    "n_train_images_per_fold": lambda out: out.per_fold("train"),
    "groups_per_fold": lambda out: out.per_fold("held_out", "group_id"),
    "n_groups_per_fold": lambda out: out.per_fold("held_out", "group_id"),
    "n_groups_on_both_sides": lambda out: out.torn_groups(),
    "groups_disjoint": lambda out: out.torn_groups() == 0,
    "every_fold_has_test_images": lambda out: all(out.per_fold("held_out")),
    "order_of_rows_by_time": lambda out: out.order_by_time(),
    "every_train_time_before_every_test_time": lambda out: out.trains_on_the_past(),
    "class_ids_present": lambda out: {image_path: np.unique(out.drawn_mask(image_path)).tolist()
                                      for image_path in out.expected("class_ids_present")},
    "class_at": lambda out: out.class_at(),
    "norm_mean_0_255": lambda out: out.preprocessing()["mean"],
    "norm_std_0_255": lambda out: out.preprocessing()["std"],
    "norm_mean_native": lambda out: out.preprocessing()["mean"],
    "norm_std_native": lambda out: out.preprocessing()["std"],
    "norm_mean_std_0_255_by_test_group": lambda out: out.by_test_group(),
    "all_losses_finite": lambda out: bool(out.history()["loss"].map(math.isfinite).all()),
    "n_images_without_labelled_pixels": lambda out: out.unlabelled_images(),
    "completes": lambda out: out.run()["status"] == "finished",
    "n_train_images": lambda out: out.preprocessing()["images"],       # without those that only stop the training
    "n_test_images_scored": lambda out: pd.read_parquet(
        out.only("runs/*/repeat-*/fold-*/seed-*/scores.parquet"))["image_id"].nunique(),
    "mean": lambda out: out.summary()["folds"]["mean"],
    "sd_over_folds": lambda out: out.summary()["folds"]["sd"],
    "standard_error": lambda out: out.summary()["folds"]["standard_error"],
    "sd_over_seeds": lambda out: out.summary()["folds"]["sd_over_seeds"],
    "ci_low": lambda out: out.summary()["folds"]["interval"]["low"],
    "ci_high": lambda out: out.summary()["folds"]["interval"]["high"],
    "ci95": lambda out: [out.summary()["folds"]["interval"][end] for end in ("low", "high")],
    "n_folds_in_mean": lambda out: out.summary()["folds"]["n"],
    "n_runs": lambda out: out.summary()["folds"]["interval"]["runs"],
    "p_value": lambda out: out.pair()["p_corrected"],
    "mean_difference": lambda out: out.pair()["mean_difference"],
    "t_plain": lambda out: out.pair()["t_plain"],
    "t_corrected": lambda out: out.pair()["t_corrected"],
    "degrees_of_freedom": lambda out: out.pair()["degrees_of_freedom"],
}
PATTERNS: dict[str, Callable[..., Any]] = {
    r"(\w+)_class_(\d+)_per_image": lambda out, metric, c: [
        cells[int(c)] for cells in out.scored(f"{metric}_per_image_and_class")],
    r"n_test_images_with_a_twin_in_train_fold_(\w+)": lambda out, fold: out.twins(fold),
    r"pooled_(\w+)_class_(\d+)": lambda out, metric, c: out.scored(f"pooled_{metric}_per_class")[int(c)],
    r"mean_(\w+)_class_(\d+)_over_images": lambda out, metric, c:
        out.scored(f"mean_{metric}_per_class_over_images")[int(c)],
    r"n_images_in_mean_class_(\d+)": lambda out, c: out.scored("n_images_in_mean_per_class")[int(c)],
    r"(auroc|average_precision|ece)_class_(\d+)": lambda out, metric, c: out.scored(f"{metric}_per_class")[int(c)],
    r"trivial_(\w+)": lambda out, name: out.scored("trivial")[name],
    r"train_pixels_of_class_(\d+)_when_(.+)_is_tested": lambda out, c, group: out.train_pixels(int(c), group),
}


def read_result(key: str, outcome: Outcome) -> Any:
    """The result that a case calls `key`."""
    if key in RESULTS:
        return RESULTS[key](outcome)
    for pattern, read in PATTERNS.items():
        if match := re.fullmatch(pattern, key):
            return read(outcome, *match.groups())
    return outcome.reported(key)


def same(found: Any, expected: Any, tolerance: float) -> bool:
    """Equal, numbers within the tolerance; null is undefined."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and found.keys() == expected.keys() and all(
            same(found[key], expected[key], tolerance) for key in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected, [tolerance] * len(expected)))
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        return found is not None and math.isclose(found, expected, rel_tol=0, abs_tol=tolerance)
    return bool(found == expected)


def run(case: Path, work: Path, description: dict[str, Any]) -> Outcome:
    """Run the case's command in the empty folder `work`."""
    kind, args = description["command_kind"], dict(description["args"])
    if kind not in COMMANDS:
        raise LookupError(f"segcv has no command {kind} yet")
    unknown = [name for name in args if name not in SETTINGS]
    if unknown:
        raise LookupError(f"segcv has no setting for {', '.join(unknown)} yet")
    overrides = [override for name, value in args.items() for override in SETTINGS[name](value, case)]
    command = [sys.executable, "-m", f"segcv.{kind}"]
    if kind == "aggregate" and "compare" in args:
        command[-1] = "segcv.compare"
    if kind == "aggregate":
        overrides = [override.replace("split.folds=", "folds=") for override in overrides] + ["out=report"]
    elif "image_dir" not in args and (case / "dataset.csv").exists():
        overrides.append(f"data.table={quoted(str(case / 'dataset.csv'))}")
    if kind == "split":
        overrides = [override.replace("seed=", "split.seed=") if override.startswith("seed=") else override
                     for override in overrides if not override.startswith("fold=")]
    if kind == "evaluate" and "split" not in args:
        overrides = [override for override in overrides if not override.startswith("split.folds=")]
    if kind == "train":
        if "seeds" in args:
            command.append("-m")
            overrides = [override for override in overrides if not override.startswith("seeds=")]
            overrides.append(f"seed={','.join(map(str, args['seeds']))}")
        overrides += [] if "epochs" in args else ["trainer.epochs=1"]
        overrides += ["workers=0"]
        if "fold" not in args and description["expect"] == "value":
            command += [] if "-m" in command[3:] else ["-m"]
            overrides.append(f"fold={','.join(map(str, range(args.get('n_splits', 5))))}")
        elif "fold" not in args:
            overrides.append("fold=0")
    if kind == "evaluate":
        overrides += ["name=case"] if "pred_dir" in args else [
            "name=case", f"predictions={quoted(str(case / 'dataset.csv'))}"]
    if kind == "audit":
        overrides = [override.replace("split.table=", "roles=") for override in overrides
                     if not override.startswith(("split=from_table", "split.folds="))]
    if "splits_file" in args:
        overrides = [override for override in overrides if not override.startswith("split.folds=")]
    done = subprocess.run([*command, *overrides], cwd=work, capture_output=True, text=True)
    print(f"$ python {' '.join(command[1:] + overrides)}\n{done.stdout}{done.stderr}exit code {done.returncode}")
    return Outcome(case, work, done.returncode, done.stderr + done.stdout, kind)


def holds(token: str, text: str) -> bool:
    """Does the text hold the token, case ignored; `a|b` means either."""
    return any(word.lower() in text.lower() for word in token.split("|"))


def faults(outcome: Outcome, description: dict[str, Any]) -> list[str]:
    """What differs from what the case expects."""
    expect, expected = description["expect"], description["expected"]
    tokens = expected.get("message_contains", [])
    values = {key: value for key, value in expected.items()
              if key not in ("message_contains", "tolerance", "value") and not key.startswith("wrong_value")}
    values |= expected.get("value", {})
    found = []
    if expect == "error":
        results = [*outcome.work.glob("runs/**/run.json"), *outcome.work.glob("report/*")]
        if outcome.command != "train":       # a split is made before training, holds whatever comes of it, and is kept
            results += outcome.work.glob("splits/*/*/manifest.json")
        if outcome.code == 0:
            found.append("expected an error; the exit code is 0")
        if "Traceback" in outcome.text:
            found.append("a traceback instead of a message")
        if results:
            found.append(f"an error, and yet result files: {', '.join(map(str, results))}")
        if outcome.command == "audit" and outcome.code == 1 and not any(
                one["severity"] == "fail" for one in outcome.json("audit/findings.json")):
            found.append("exit code 1 without a finding that fails")
        if outcome.command == "audit" and outcome.code != 1 and [*outcome.work.glob("audit/*")]:
            found.append("refused, and yet result files")
        found += [f"the message lacks {token!r}" for token in tokens if not holds(token, outcome.text)]
    elif outcome.code != 0:
        return [f"exit code {outcome.code}"]
    if expect == "warning":
        said = [line for line in outcome.text.splitlines()
                if line.startswith("warning:") and all(holds(token, line) for token in tokens)]
        if len(said) != 1:
            found.append(f"{len(said)} warnings hold {tokens}, expected one")
    for key, value in values.items():
        result = read_result(key, outcome)
        print(f"{key}: {result}")
        if not same(result, value, expected.get("tolerance", 1e-6)):
            found.append(f"{key} is {result}, expected {value}")
    reported = [path.read_text(encoding="utf-8")
                for pattern in ("report/summary.json", "runs/**/summary.json") for path in outcome.work.glob(pattern)]
    found += [f"the wrong value {value} is reported" for key, value in expected.items()
              if key.startswith("wrong_value") and any(f"{value:.4f}" in text for text in reported)]
    return found


def main(case: Path) -> int:
    """Run the case; 0 if it came out as expected."""
    description = json.loads((case / "case.json").read_text(encoding="utf-8"))
    print(f"{description['id']}: {description['what']}")
    with tempfile.TemporaryDirectory() as work:
        try:
            wrong = faults(run(case, Path(work), description), description)
        except LookupError as error:
            wrong = [str(error)]
    for fault in wrong:
        print(f"FAILED: {fault}")
    print("passed" if not wrong else f"failed; {description['because']}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))

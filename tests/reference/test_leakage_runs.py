"""Finished runs on disk, held against the roles of their split: right ones pass, tampered ones are named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tiny_leaks import clean

from segcv.errors import RunError
from segcv.leakage import Facts, RunFacts, audit, fingerprint_of, read_ledger, read_ledgers, read_runs
from segcv.runs import RunKey, RunRecord
from segcv.splits import cut_roles, fold_roles, inner_holdout, read_split, write_split
from segcv.tables import LEDGER, SCORES, stream, write_json

IDS = [f"{group}{number}" for group in "abcdef" for number in range(3)]
EARLY = {"trainer": {"stopping": "early", "validation_fold": None, "validation_share": 0.3}, "split": {"seed": 0}}
KEYS = [RunKey("unet", "abc12345", 0, fold, 0) for fold in range(3)]


def scores_of(ids: list[str], run_id: str, tp: int) -> pd.DataFrame:
    return pd.DataFrame([{"run_id": run_id, "image_id": one, "class_id": c, "group_id": one[0], "source_id": "",
                          "tp": tp, "fp": 0, "fn": 10 - tp, "valid": 20} for one in ids for c in (0, 1)])


def write_run(runs: Path, key: RunKey, split_folder: Path, *, settings: dict | None = None, **changes: object) -> Path:
    """A run of the fold as the command train leaves it: record, config, scores of both sides, fingerprint."""
    split = read_split(split_folder)
    rows = fold_roles(split, key.repeat, key.fold)
    train, held_out = (rows.loc[rows["role"].eq(role), "image_id"].tolist() for role in ("train", "held_out"))
    folder = runs / key.run_id
    inside: set[str] = set()
    if settings is not None:
        rng = np.random.default_rng(stream(0, "inner", key.repeat, key.fold))
        training = rows[rows["role"].eq("train")].reset_index(drop=True)
        inside = set(inner_holdout(training, share=settings["trainer"]["validation_share"], rng=rng)[1]["image_id"])
    write_json(folder / "model/model.json", {"fitted_on": fingerprint_of(set(train) - inside)})
    write_json(folder / "config.json", {"settings": settings or {"trainer": {"stopping": "fixed"}}})
    SCORES.write(scores_of(held_out, key.run_id, 6), folder / "scores.parquet")
    SCORES.write(scores_of(train, key.run_id, 8), folder / "train_scores/scores.parquet")
    record = RunRecord(
        run_id=key.run_id, candidate=key.candidate, config_id=key.config_id, recipe_id="r", data_id="d",
        split_id=split.split_id, split_name="group_kfold", split_folder=str(split_folder), leaking=False,
        repeat=key.repeat, fold=key.fold, seed=key.seed, status="finished", seconds=1.0, device="cpu", threads=1,
        code_version="0", model="unet", train_images=len(train), held_out_images=len(held_out), majority_class=0,
        unlabelled_train_images=0, best_epoch=0)
    replace(record, **changes).write(folder)
    return folder


@pytest.fixture
def split(tmp_path: Path) -> Path:
    images = pd.DataFrame({
        "image_id": IDS, "image_path": [str(tmp_path / f"{one}.png") for one in IDS],
        "mask_path": [str(tmp_path / f"{one}_mask.png") for one in IDS], "group_id": [one[0] for one in IDS],
        "group_evidence": "column"}).astype("str")
    profile = pd.DataFrame({"image_id": IDS, "image_hash": IDS, "mask_hash": IDS, "height": 4, "width": 5, "bands": 3,
                            "dtype": "uint8", "brightness": 1.0, "contrast": 1.0, "nodata_share": 0.0})
    masks = pd.DataFrame({"image_id": np.repeat(IDS, 2), "class_id": np.tile([0, 1], len(IDS)), "pixels": 10})
    roles = cut_roles(images, masks, splitter="group_kfold", folds=3, repeats=1, seed=0)
    write_split(tmp_path / "split", images=images, roles=roles, profile=profile, masks=masks, data_id="d",
                leaking=False, settings={}, seed=0, target="equal_group", class_names=["soil", "road"])
    return tmp_path / "split"


def found(runs: Path) -> dict[tuple[str, str], str]:
    """(check, subject) -> severity."""
    return {(one.check, one.subject): one.severity for one in audit(Facts(runs=read_runs(runs))).findings}


def test_runs_that_kept_to_their_roles_pass(tmp_path: Path, split: Path):
    for key in KEYS:
        write_run(tmp_path / "runs", key, split)

    assert found(tmp_path / "runs") == {}


def test_a_run_that_stopped_early_is_fitted_on_the_rest_of_its_training(tmp_path: Path, split: Path):
    """Its fingerprint is of the training images without those held out inside, which are cut again here."""
    write_run(tmp_path / "runs", KEYS[0], split, settings=EARLY)

    run = read_runs(tmp_path / "runs")[0]
    assert 0 < len(run.inside) < len(run.train)
    assert found(tmp_path / "runs") == {}


def all_images(folder: Path) -> None:
    write_json(folder / "model/model.json", {"fitted_on": fingerprint_of(set(IDS))})


def strange_images(folder: Path) -> None:
    write_json(folder / "model/model.json", {"fitted_on": "0123456789ab"})


def one_training_image_more(folder: Path) -> None:
    held_out = SCORES.read(folder / "scores.parquet")
    train = SCORES.read(folder / "train_scores/scores.parquet")
    SCORES.write(pd.concat([held_out, train[:2]]), folder / "scores.parquet")


def one_held_out_image_less(folder: Path) -> None:
    SCORES.write(SCORES.read(folder / "scores.parquet")[2:], folder / "scores.parquet")


def better_than_training(folder: Path) -> None:
    scores = SCORES.read(folder / "scores.parquet")
    SCORES.write(scores.assign(tp=9, fn=1), folder / "scores.parquet")


@pytest.mark.parametrize(("tamper", "expected"), [
    (all_images, {("fitted_on", "preprocessing"): "fail"}),
    (strange_images, {("fitted_on", "preprocessing"): "fail"}),
    (one_training_image_more, {("scored_on", "training images"): "fail"}),
    (one_held_out_image_less, {("scored_on", "held-out images"): "warn"}),
    (better_than_training, {("score_too_good", "unet-abc12345, above training"): "warn"}),
])
def test_a_run_that_left_its_role_is_named(tmp_path: Path, split: Path, tamper: Callable[[Path], None],
                                           expected: dict[tuple[str, str], str]):
    tamper(write_run(tmp_path / "runs", KEYS[0], split))

    assert found(tmp_path / "runs") == expected
    assert KEYS[0].set_name in audit(Facts(runs=read_runs(tmp_path / "runs"))).findings[0].what


@pytest.mark.parametrize("elsewhere", [True, False])         # predictions handed in, or left by a program
def test_runs_without_roles_or_proof_are_said_to_be_so(tmp_path: Path, split: Path, elsewhere: bool):
    write_run(tmp_path / "runs", KEYS[0], split, split_id="another")
    write_run(tmp_path / "runs", KEYS[1], split, trained_elsewhere=elsewhere, held_out_proof="")
    write_run(tmp_path / "runs", KEYS[2], split, leaking=True)

    assert found(tmp_path / "runs") == {("scored_on", "split"): "warn", ("fitted_on", "not proven"): "warn",
                                        ("scored_on", "torn groups"): "warn"}


def test_a_folder_without_runs_is_refused(tmp_path: Path):
    with pytest.raises(RunError, match="there is no finished run"):
        read_runs(tmp_path / "runs")


def test_the_ledgers_below_a_folder_are_kept_apart_by_place_and_repeat(tmp_path: Path):
    """Group a judges outer fold 0 of repeat 0 and trains in outer fold 0 of repeat 1: that is no leak."""
    rows = [("repeat-0/outer-0/final/x", "a", "O"), ("repeat-1/outer-0/final/x", "a", "B"),
            ("repeat-0/outer-0/final/x", "b", "B"), ("repeat-1/outer-0/final/x", "b", "O")]
    ledger = pd.DataFrame(rows, columns=["fit_id", "group_id", "role"]).assign(outer=0, inner=-1, candidate="x", rows=1)
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        LEDGER.write(ledger, tmp_path / place / "ledger.parquet")

    found = read_ledgers(tmp_path)
    assert found is not None and found["outer"].nunique() == 4
    assert audit(Facts(ledger=found)).findings == ()
    assert audit(Facts(ledger=read_ledger(tmp_path / "one/ledger.parquet"))).findings == ()
    beside = read_ledgers(tmp_path / "one/runs")
    assert beside is not None and beside["outer"].nunique() == 2


def of_run(run: RunFacts, held_out: dict[str, float], **changes: object) -> RunFacts:
    """The run with an IoU for each held-out image: tp of 10 true pixels in both classes, no false ones."""
    scores = pd.concat([scores_of([one], run.run_id, round(10 * iou)) for one, iou in held_out.items()])
    return replace(run, scores=scores.reset_index(drop=True), train_scores=None, **changes)


def test_images_near_training_that_score_better_are_named_with_the_difference():
    """Two groups are torn on purpose: their 8 images get IoU 0.8 and 0.9 in turn, the other 24 get 0.5 and 0.6: means
    of 0.85 and 0.55."""
    facts = clean()
    images = facts.images.drop(columns="patient_id")
    images.loc[:7, "group_id"] = "farm a"                # held out in folds 0 and 1
    near = set(images["image_id"][:8])
    iou = {one: (0.8 if one in near else 0.5) + 0.1 * (row % 2) for row, one in enumerate(images["image_id"])}
    runs = tuple(of_run(run, {one: iou[one] for one in sorted(run.held_out)}) for run in facts.runs)
    done = audit(replace(facts, images=images, runs=runs))

    found = {one.check: one for one in done.findings}
    assert set(found) == {"groups_whole", "score_too_good"}
    assert "scores 0.850 on the 8 held-out images" in found["score_too_good"].what
    assert "and 0.550 on the other 24" in found["score_too_good"].what


def test_what_torn_groups_add_to_the_score_is_said_beside_whole_groups():
    """Whole groups get 0.5 and 0.6 in turn by group, torn ones 0.3 more everywhere: the difference is 0.300."""
    facts = clean()
    group = dict(zip(facts.images["image_id"], facts.images["group_id"], strict=True))

    def iou(image_id: str) -> float:
        return 0.5 + 0.1 * (ord(group[image_id][-1]) % 2)

    def runs(name: str, more: float, *, leaking: bool) -> list[RunFacts]:
        made = []
        for run in facts.runs:
            here = replace(run, run_id=run.run_id.replace("unet-12345678", name), set_name=name, leaking=leaking)
            here = of_run(here, {one: iou(one) + more for one in sorted(run.held_out)})
            scores = here.scores.assign(group_id=here.scores["image_id"].map(group))
            made.append(replace(here, scores=scores))
        return made

    both = (*runs("whole-1", 0.0, leaking=False), *runs("torn-1", 0.3, leaking=True))
    found = [one for one in audit(Facts(runs=both)).findings if one.check == "score_too_good"]

    assert len(found) == 1 and found[0].subject == "torn-1, above whole groups"
    assert "torn groups say 0.850, whole groups 0.550" in found[0].what and "0.300" in found[0].what

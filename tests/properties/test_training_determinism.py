"""The same bits: whatever fetches the data, wherever a fit is cut short, and only as long as no seed changes."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny_images import write_squares

from segcv.errors import ModelError, SegcvWarning
from segcv.pixels import Decoded, decoded_pairs, fit_preprocessing, label_map
from segcv.training import CHECKPOINT, Fit, ModelChoice, Stopping, fit, remove_checkpoints, run_seeds
from segcv.training.seeds import EpochSampler, batches, epoch_order

LABELS = label_map(names=["background", "square"])
STEPS = [{"name": "HorizontalFlip", "p": 0.5}, {"name": "GaussNoise", "p": 0.5}]
SEEDS = run_seeds(3, repeat=0, fold=1)
IMAGES, EPOCHS, BATCHES = 11, 2, 3         # batches of 4, 4 and 3


class Killed(Exception):
    """Stands for a process that ends."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory) -> pd.DataFrame:
    return write_squares(tmp_path_factory.mktemp("squares"), IMAGES)


@pytest.fixture(scope="module")
def whole(rows: pd.DataFrame, tmp_path_factory) -> Fit:
    return fitted(rows, tmp_path_factory.mktemp("whole"))


def fitted(rows: pd.DataFrame, out: Path, **changed: Any) -> Fit:
    settings: dict[str, Any] = {
        "labels": LABELS, "preprocessing": fit_preprocessing(rows), "seeds": SEEDS, "augment": STEPS, "crop": 24,
        "model": ModelChoice(arguments={"dropout": 0.5}), "epochs": EPOCHS, "batch_size": 4, "lr": 3e-3,
        "device": "cpu",
    }
    return fit(rows, out=out, **(settings | changed))


def decoded(rows: pd.DataFrame, folder: Path) -> Decoded:
    return decoded_pairs(zip(rows["image_path"], rows["mask_path"], strict=True), labels=LABELS, folder=folder,
                         limit_gb=1)


def sha256(fitted: Fit) -> str:
    digest = hashlib.sha256()
    for name, tensor in fitted.network.module.state_dict().items():
        digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


def killed_after(steps: int):
    def watch(info):
        if info.step == steps:
            raise Killed
    return watch


@pytest.mark.parametrize("workers", [0, 1, 2, 4])
def test_workers_do_not_change_a_bit(rows: pd.DataFrame, whole: Fit, workers: int, tmp_path: Path):
    assert sha256(fitted(rows, tmp_path, workers=workers)) == sha256(whole)


@pytest.mark.parametrize("workers", [0, 2, 4])
def test_the_cache_does_not_change_a_bit(rows: pd.DataFrame, whole: Fit, workers: int, tmp_path: Path):
    """Without it images are decoded whenever they are read; here all are in it, then all but the last few."""
    every, few = decoded(rows, tmp_path / "every"), decoded(rows.iloc[:7], tmp_path / "few")

    assert sha256(fitted(rows, tmp_path / "a", workers=workers, decoded=every)) == sha256(whole)
    assert (len(every), len(few)) == (IMAGES, 7)
    if workers == 2:
        assert sha256(fitted(rows, tmp_path / "b", workers=workers, decoded=few)) == sha256(whole)


def test_a_fit_that_is_killed_and_goes_on_with_another_cache_ends_with_the_same_bits(rows, whole, tmp_path: Path):
    with pytest.raises(Killed):
        fitted(rows, tmp_path, decoded=decoded(rows, tmp_path / "one"), checkpoint_steps=1, watch=killed_after(4))

    resumed = fitted(rows, tmp_path, decoded=decoded(rows, tmp_path / "other"), workers=2)

    assert resumed.resumed_at == 4 and sha256(resumed) == sha256(whole)


def test_neither_the_order_of_rows_nor_other_columns_change_a_bit(rows: pd.DataFrame, whole: Fit, tmp_path: Path):
    shuffled = rows.sample(frac=1, random_state=1).assign(time="noon")

    assert sha256(fitted(shuffled, tmp_path)) == sha256(whole)


def test_what_torch_drew_and_was_set_to_before_does_not_matter_and_is_as_before_after(rows, whole, tmp_path: Path):
    torch.manual_seed(5)
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert sha256(fitted(rows, tmp_path)) == sha256(whole)
        assert torch.get_num_threads() == 2
        assert torch.equal(torch.random.get_rng_state(), before)
        assert not torch.are_deterministic_algorithms_enabled()
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("step", range(1, EPOCHS * BATCHES + 1))
def test_a_fit_killed_at_any_step_ends_with_the_bits_of_one_that_ran_through(rows, whole, step: int, tmp_path: Path):
    with pytest.raises(Killed):
        fitted(rows, tmp_path, checkpoint_steps=1, watch=killed_after(step))
    torch.manual_seed(99)

    resumed = fitted(rows, tmp_path, workers=step % 3)

    assert resumed.resumed_at == step
    assert sha256(resumed) == sha256(whole)
    columns = ["epoch", "loss", "lr", "images", "skipped_batches"]
    pd.testing.assert_frame_equal(resumed.history[columns], whole.history[columns], check_exact=True)


def test_without_steps_a_killed_fit_goes_back_to_its_last_epoch(rows, whole, tmp_path: Path):
    with pytest.raises(Killed):
        fitted(rows, tmp_path, watch=killed_after(BATCHES + 2))

    resumed = fitted(rows, tmp_path)

    assert resumed.resumed_at == BATCHES
    assert sha256(resumed) == sha256(whole)


def test_a_finished_fit_that_is_started_again_trains_no_further(rows, tmp_path: Path):
    first = fitted(rows, tmp_path)

    again = fitted(rows, tmp_path, watch=killed_after(EPOCHS * BATCHES))

    assert again.resumed_at == EPOCHS * BATCHES and sha256(again) == sha256(first)


def test_early_stopping_resumes_to_the_same_best_epoch(rows, tmp_path: Path):
    train, inner = rows[rows["group_id"] != "g0"], rows[rows["group_id"] == "g0"]
    settings = {"stopping": Stopping(inner, patience=2), "epochs": 4, "preprocessing": fit_preprocessing(train)}
    straight = fitted(train, tmp_path / "straight", **settings)
    with pytest.raises(Killed):
        fitted(train, tmp_path / "killed", watch=killed_after(7), checkpoint_steps=1, **settings)

    resumed = fitted(train, tmp_path / "killed", decoded=decoded(rows, tmp_path), **settings)

    assert sha256(resumed) == sha256(straight)
    assert resumed.best_epoch == straight.best_epoch == straight.history["inner_score"].idxmax()


@pytest.mark.parametrize("source", ["init", "order", "augment", "dropout"])
def test_each_seed_alone_changes_the_weights(rows, whole, source: str, tmp_path: Path):
    assert sha256(fitted(rows, tmp_path, seeds=replace(SEEDS, **{source: 1}))) != sha256(whole)


def test_folds_and_repeats_of_one_seed_share_no_stream():
    roots = {run_seeds(seed, repeat=repeat, fold=fold).init for seed in (0, 1) for repeat in (0, 1) for fold in (0, 1)}

    assert len(roots) == 8


def test_a_seed_that_is_given_is_used_and_the_others_follow_the_run():
    seeds, run = run_seeds(0, repeat=0, fold=0, order=7), run_seeds(0, repeat=0, fold=0)

    assert seeds.order == run_seeds(7, repeat=0, fold=0).order != run.order
    assert (seeds.init, seeds.augment, seeds.dropout) == (run.init, run.augment, run.dropout)


def test_a_checkpoint_of_another_fit_is_refused_with_what_differs(rows, tmp_path: Path):
    with pytest.raises(Killed):
        fitted(rows, tmp_path, config_id="abc", watch=killed_after(BATCHES + 1))

    with pytest.raises(ModelError, match=r"belongs to another fit: config_id was 'abc' and is now 'abd'"):
        fitted(rows, tmp_path, config_id="abd")
    with pytest.raises(ModelError, match=r"lr was 0\.003 and is now 0\.004"):
        fitted(rows, tmp_path, config_id="abc", lr=4e-3)
    with pytest.raises(ModelError, match="images was"):
        fitted(rows.iloc[1:], tmp_path, config_id="abc")


def test_a_checkpoint_that_is_cut_short_is_refused_and_not_run(rows, tmp_path: Path):
    (tmp_path / CHECKPOINT).write_bytes(b"cos\nsystem\n(S'touch owned'\ntR.")

    with pytest.raises(ModelError, match="not a readable checkpoint"):
        fitted(rows, tmp_path)


@pytest.mark.parametrize("bad", [1, 2])
def test_the_last_good_checkpoint_of_three_is_taken_and_the_damage_said(rows, whole, tmp_path: Path, bad: int):
    """Killed after step 5, checkpoints of the steps 5, 4 and 3 are there; the newest ones are cut in the middle."""
    with pytest.raises(Killed):
        fitted(rows, tmp_path, checkpoint_steps=1, watch=killed_after(5))
    places = [tmp_path / name for name in ("checkpoint.pt", "checkpoint-1.pt", "checkpoint-2.pt")]
    assert sorted(tmp_path.iterdir()) == sorted(places)
    for place in places[:bad]:
        place.write_bytes(place.read_bytes()[:5000])

    with pytest.warns(SegcvWarning, match=rf"The one before, {places[bad].name}, is taken instead"):
        resumed = fitted(rows, tmp_path)

    assert resumed.resumed_at == 5 - bad and sha256(resumed) == sha256(whole)
    remove_checkpoints(tmp_path / CHECKPOINT)
    assert not list(tmp_path.iterdir())


def test_a_process_that_ends_between_moving_and_writing_leaves_the_one_before(rows, whole, tmp_path: Path):
    with pytest.raises(Killed):
        fitted(rows, tmp_path, checkpoint_steps=1, watch=killed_after(4))
    (tmp_path / CHECKPOINT).unlink()

    resumed = fitted(rows, tmp_path)

    assert resumed.resumed_at == 3 and sha256(resumed) == sha256(whole)


@given(images=st.integers(1, 60), batch_size=st.integers(1, 16), epoch=st.integers(0, 5), root=st.integers(0, 9))
def test_an_epoch_shows_each_image_once_and_no_batch_of_one_but_where_it_must(images, batch_size, epoch, root):
    cut = batches(epoch_order(images, root=root, epoch=epoch), batch_size=batch_size)

    assert sorted(position for batch in cut for position in batch) == list(range(images))
    if batch_size > 1 and images > 1:
        assert min(map(len, cut)) > 1 and max(map(len, cut)) <= batch_size + 1


@given(start=st.integers(0, 3), epoch=st.integers(0, 3))
def test_a_sampler_that_starts_later_goes_on_as_one_that_did_not_stop(start: int, epoch: int):
    one, other = (EpochSampler(13, batch_size=4, root=1) for _ in range(2))
    one.at(epoch)
    other.at(epoch, start=start)

    assert list(other) == list(one)[start:]


def test_epochs_differ_in_order():
    assert epoch_order(20, root=1, epoch=0) != epoch_order(20, root=1, epoch=1)

"""What the loop can do besides steps: mix a batch, take it in pieces, average weights, keep an encoder as it came."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from tiny_images import write_squares
from torch import Tensor, nn

from segcv.errors import ConfigError, SegcvError, TrainingError
from segcv.pixels import fit_preprocessing, label_map
from segcv.training import CHECKPOINT, Fit, Mixing, ModelChoice, Stopping, fit, run_seeds
from segcv.training.averaging import MovingAverage
from segcv.training.mixing import mixed

LABELS = label_map(names=["background", "square"])
ENCODER, NO_MEMORY = ModelChoice("tiny_models:EncoderAndHead"), ModelChoice("tiny_models:NoMemoryOnce")
PLAIN = ModelChoice("tiny_models:pixelwise")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return write_squares(tmp_path_factory.mktemp("squares"), 9)


def fitted(rows: pd.DataFrame, out: Path, **changed: Any) -> Fit:
    settings: dict[str, Any] = {
        "labels": LABELS, "preprocessing": fit_preprocessing(rows), "seeds": run_seeds(0, repeat=0, fold=0),
        "augment": "light", "model": ENCODER, "epochs": 2, "batch_size": 4, "lr": 1e-2, "device": "cpu"}
    return fit(rows, out=out, **(settings | changed))


def weights(fit: Fit) -> dict[str, Tensor]:
    return dict(fit.network.module.state_dict())


def same(one: Fit, other: Fit) -> bool:
    return all(torch.equal(tensor, weights(other)[name]) for name, tensor in weights(one).items())


class Killed(Exception):
    """Stands for a process that ends."""


EVERYTHING: dict[str, Any] = {"mixing": Mixing(mixup=0.4, cutmix=1.0, share=1.0), "ema": 0.9, "freeze_encoder": 1,
                              "batch_size": 2, "accumulate": 2}


@pytest.mark.parametrize("step", [1, 2, 3, 4, 5])
def test_a_killed_fit_with_all_of_it_goes_on_to_the_same_bits_with_other_workers(rows, tmp_path: Path, step: int):
    """Nine images in steps of 4 and 5, three epochs, killed after each step but the last."""
    def watch(info):
        if info.step == step:
            raise Killed

    whole = fitted(rows, tmp_path / "whole", epochs=3, **EVERYTHING)
    with pytest.raises(Killed):
        fitted(rows, tmp_path / "cut", epochs=3, checkpoint_steps=1, watch=watch, **EVERYTHING)
    resumed = fitted(rows, tmp_path / "cut", epochs=3, workers=step % 2, **EVERYTHING)

    assert resumed.resumed_at == step and same(resumed, whole)


@pytest.mark.parametrize("loss", ["cross_entropy+dice", "focal"])
def test_batches_taken_in_pieces_train_as_the_large_batch_does(rows, tmp_path: Path, loss: str):
    """A network without batch norm, class weights that differ, images whose labelled shares differ: equal to float32
    rounding, although neither loss is a mean over images. 9 images: batches of 4 and 5, in pieces of 1 to 3."""
    given = {"model": PLAIN, "loss": loss, "class_weights": (1.0, 5.0), "epochs": 3,
             "mixing": Mixing(cutmix=1.0, share=1.0)}
    large = fitted(rows, tmp_path / "large", batch_size=4, **given)

    for at_once, accumulate in ((1, 4), (2, 2)):
        pieces = fitted(rows, tmp_path / f"{at_once}", batch_size=at_once, accumulate=accumulate, **given)
        assert all(torch.allclose(tensor, weights(pieces)[name], rtol=1e-4, atol=1e-6)
                   for name, tensor in weights(large).items())
        assert pieces.history["loss"].tolist() == pytest.approx(large.history["loss"].tolist(), rel=1e-5)


def test_normalisation_counts_the_pieces_once(rows, tmp_path: Path):
    """num_batches_tracked by hand: 9 images, 2 epochs, pieces of 2 to 3 images: 4 and 5 images are two pieces each."""
    pieces = fitted(rows, tmp_path, batch_size=2, accumulate=2)

    assert int(weights(pieces)["encoder.1.num_batches_tracked"]) == 2 * 4


def batch() -> tuple[Tensor, Tensor]:
    """Six images whose values and truths tell them apart: image k is k everywhere, its class k % 2, its row 0 void."""
    x = torch.arange(6.0)[:, None, None, None].expand(6, 3, 16, 20).clone()
    hits = nn.functional.one_hot(torch.arange(6) % 2, 2).float()[:, :, None, None].expand(6, 2, 16, 20).clone()
    hits[:, :, 0] = 0
    return x, hits


def test_cutmix_takes_the_truth_of_the_pixels_it_takes():
    """Each pixel is of the image itself or of one other, the same for image and truth, and the other's pixels are one
    box."""
    x, hits = batch()
    changed = 0
    for step in range(20):
        y, found = mixed(x, hits, Mixing(cutmix=1.0, share=1.0), root=1, step=step)
        for number in range(6):
            values = y[number, 0]
            assert torch.equal(y[number], values.expand(3, 16, 20))
            taken = values != number
            assert len(values[taken].unique()) <= 1
            truth = (values.long() % 2)[None] == torch.arange(2)[:, None, None]
            truth[:, 0] = False
            assert torch.equal(found[number].bool(), truth)
            if taken.any():
                changed += 1
                down, across = taken.any(1).nonzero(), taken.any(0).nonzero()
                box = (down.max() - down.min() + 1) * (across.max() - across.min() + 1)
                assert int(taken.sum()) == int(box)
    assert changed > 40


def test_mixup_blends_the_truth_by_the_share_that_it_blends_the_image_by():
    """Image k has the value k and class k % 2: y = keep * k + (1 - keep) * other, hits alike; void stays void."""
    x, hits = batch()
    shares = []
    for step in range(20):
        y, found = mixed(x, hits, Mixing(mixup=0.5, share=1.0), root=1, step=step)
        assert (found[:, :, 0] == 0).all()
        values = y[:, 0, 5, 5]
        assert values.sum().item() == pytest.approx(15.0, rel=1e-5)         # every image is one other's other
        even = found[:, 0, 5, 5]
        assert torch.allclose(found[:, :, 5, 5].sum(dim=1), torch.ones(6))
        assert even.sum().item() == pytest.approx(3.0, rel=1e-5)
        shares += [value for value in even.tolist() if 0 < value < 1]
    assert len(set(shares)) > 10


def test_a_batch_is_mixed_by_its_step_alone_and_as_often_as_asked():
    """Of 400 steps a quarter: a binomial count lies in 100 +- 4 SD of 8.7. Nothing else is drawn from."""
    x, hits = batch()
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    mixing = Mixing(mixup=1.0, cutmix=1.0, share=0.25)
    first = [mixed(x, hits, mixing, root=3, step=step) for step in range(400)]
    again = [mixed(x, hits, mixing, root=3, step=step) for step in (7, 300)]

    assert abs(sum(one is not x for one, _ in first) - 100) < 35
    assert torch.equal(first[7][0], again[0][0]) and torch.equal(first[300][1], again[1][1])
    assert torch.equal(before, torch.random.get_rng_state())
    assert not all(torch.equal(one, other) for (one, _), (other, _) in
                   zip(first, [mixed(x, hits, mixing, root=4, step=step) for step in range(400)], strict=True))


def test_a_moving_average_by_hand():
    """Weights 1, 3, 7 after the first 1: the decays are 2/11, 3/12 and, above the asked 0.3, 4/13 -> 0.3."""
    module = nn.Linear(1, 1, bias=False)
    nn.init.constant_(module.weight, 1.0)
    average = MovingAverage(module, 0.3)
    wanted = 1.0
    for value, decay in ((1.0, 2 / 11), (3.0, 3 / 12), (7.0, 0.3)):
        nn.init.constant_(module.weight, value)
        average.update(module)
        wanted = decay * wanted + (1 - decay) * value
    with average.inside(module):
        assert module.weight.item() == pytest.approx(wanted, rel=1e-6)
    assert module.weight.item() == 7.0


def test_the_averaged_weights_are_the_ones_that_are_kept_and_said(rows, tmp_path: Path):
    """The checkpoint holds both; the fit's network has the average, and early stopping looked at it."""
    plain, averaged = fitted(rows, tmp_path / "a"), fitted(rows, tmp_path / "b", ema=0.5)
    saved = torch.load(tmp_path / "b" / CHECKPOINT, weights_only=True)

    assert all(torch.equal(saved["average"]["weights"][name], tensor) for name, tensor in weights(averaged).items())
    assert all(torch.equal(saved["model"][name], tensor) for name, tensor in weights(plain).items())
    assert (plain.weights, averaged.weights) == ("the last epoch", "moving average (0.5) of the last epoch")
    inner = rows[rows["group_id"] == "g0"]
    stopped = fitted(rows[rows["group_id"] != "g0"], tmp_path / "c", ema=0.5, stopping=Stopping(inner))
    assert stopped.weights == "moving average (0.5) of the best epoch on the inner hold-out"


def test_a_frozen_encoder_is_as_it_came_until_its_epochs_are_over(rows, tmp_path: Path):
    """Weights and running means of the encoder after one, and after two of two frozen epochs, are those of a fit of
    rate almost 0 before its first step counts; the head learns in both."""
    start = fit_start(rows, tmp_path)
    frozen, later = (fitted(rows, tmp_path / f"{epochs}", freeze_encoder=epochs) for epochs in (2, 1))

    assert all(torch.equal(tensor, start[name]) for name, tensor in weights(frozen).items() if "encoder" in name)
    assert not torch.equal(weights(frozen)["head.weight"], start["head.weight"])
    assert not torch.equal(weights(later)["encoder.0.weight"], start["encoder.0.weight"])
    assert all(parameter.requires_grad for parameter in frozen.network.module.parameters())


def fit_start(rows: pd.DataFrame, tmp_path: Path) -> dict[str, Tensor]:
    """The first weights, as they are when the first batch arrives."""
    found: dict[str, Tensor] = {}
    register = nn.Module.register_forward_pre_hook

    class Stop(Exception):
        pass

    def stop(module: nn.Module, given: object) -> None:
        found.update({name: tensor.clone() for name, tensor in module.state_dict().items()})
        raise Stop

    import tiny_models

    def build(*, bands: int, n_classes: int) -> nn.Module:
        module = tiny_models.EncoderAndHead(bands=bands, n_classes=n_classes)
        register(module, stop)
        return module

    tiny_models.build_and_stop = build
    with pytest.raises(Stop):
        fitted(rows, tmp_path / "start", model=ModelChoice("tiny_models:build_and_stop"))
    return found


def test_out_of_memory_names_the_images_and_the_setting_and_the_fit_goes_on_from_there(rows, tmp_path: Path,
                                                                                       monkeypatch):
    monkeypatch.setenv("DIED", str(tmp_path / "died"))
    with pytest.raises(TrainingError, match=r"Out of memory on a batch of \d: square_\d.*Lower batch_size and raise "
                                            r"accumulate.*the same command goes on"):
        fitted(rows, tmp_path / "cut", model=NO_MEMORY, checkpoint_steps=1)
    resumed = fitted(rows, tmp_path / "cut", model=NO_MEMORY)
    whole = fitted(rows, tmp_path / "whole", model=NO_MEMORY)

    assert resumed.resumed_at == 3 and same(resumed, whole)


@pytest.mark.parametrize("changed", [{"mixing": Mixing(mixup=0.4, share=1.0)}, {"ema": 0.9}, {"accumulate": 2},
                                     {"mixing": Mixing(cutmix=1.0, share=1.0)}, {"freeze_encoder": 1}])
def test_each_of_them_has_an_effect(rows, tmp_path: Path, changed):
    assert not same(fitted(rows, tmp_path / "a"), fitted(rows, tmp_path / "b", **changed))


@pytest.mark.parametrize(("changed", "says"), [
    ({"mixing": Mixing(mixup=0.0)}, "augment.mixup=0.0 must be above 0"),
    ({"mixing": Mixing(cutmix=1.0, share=0.0)}, "augment.mix_share=0.0"),
    ({"mixing": Mixing(share=0.3)}, "augment.mix_share=0.3 has an effect with"),
    ({"mixing": Mixing(mixup=1.0), "batch_size": 1}, "trainer.batch_size=1 has"),
    ({"ema": 1.0}, "trainer.ema=1.0 must lie between 0 and 1"),
    ({"freeze_encoder": 3}, "trainer.freeze_encoder=3 must be a number of epochs, from 0 to trainer.epochs=2"),
    ({"freeze_encoder": 1, "model": PLAIN}, "trainer.freeze_encoder=1 has no effect: tiny_models:pixelwise has no"),
    ({"accumulate": 0}, "accumulate=0 must be 1 or more"),
    ({"accumulate": 2, "batch_size": 9}, "accumulate=2 has no effect: the 9 training images are one batch"),
])
def test_what_would_have_no_effect_is_refused_before_the_first_step(rows, tmp_path: Path, changed, says: str):
    with pytest.raises(ConfigError) as refused:
        fitted(rows, tmp_path, **changed)
    assert isinstance(refused.value, SegcvError) and says in str(refused.value)
    assert not list(tmp_path.iterdir())


def test_pixels_that_count_less_after_mixing_weigh_less_in_every_loss():
    """By hand, one pixel each of two classes: cross-entropy of hits (0.5, 0) against log p = -1 weighs half, and the
    mean over weights is again 1."""
    from segcv.training import LOSSES

    logits = torch.log(torch.tensor([np.exp(-1.0), 1 - np.exp(-1.0)]))[None, :, None, None].float()
    half = torch.tensor([0.5, 0.0])[None, :, None, None]

    assert LOSSES["cross_entropy"](logits, half, torch.ones(2)).item() == pytest.approx(1.0, rel=1e-5)

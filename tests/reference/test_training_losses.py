"""Losses and class weights, worked by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from segcv.errors import ConfigError, SegcvWarning
from segcv.training import LOSSES, build_loss, class_weights, learning_rate
from segcv.training.losses import truth_hits

VOID = 255
EVEN = torch.ones(2)


def logits_of(probabilities: list[float]) -> Tensor:
    """Logits 1 x 2 x 1 x n in which pixel i has class 1 with the probability given."""
    p = torch.tensor(probabilities, dtype=torch.float64)
    return torch.stack([(1 - p).log(), p.log()])[None, :, None, :]


def hits_of(truth: list[int]) -> Tensor:
    return truth_hits(torch.tensor(truth, dtype=torch.uint8)[None, None], n_classes=2)


def test_cross_entropy_is_the_mean_of_minus_log_p_over_labelled_pixels():
    """By hand: the truth has p = 0.8, 0.6 and 0.5, the last pixel is ignored; mean of -ln over the first two."""
    loss = LOSSES["cross_entropy"](logits_of([0.8, 0.4, 0.5]), hits_of([1, 0, VOID]), EVEN)

    assert loss.item() == pytest.approx(-(math.log(0.8) + math.log(0.6)) / 2)


def test_class_weights_divide_as_well_as_multiply():
    """By hand: weights 1 and 3; (1 * -ln 0.6 + 3 * -ln 0.8) / (1 + 3). torch's own weighted mean says the same."""
    logits, weights = logits_of([0.8, 0.4]), torch.tensor([1.0, 3.0])

    loss = LOSSES["cross_entropy"](logits, hits_of([1, 0]), weights)

    assert loss.item() == pytest.approx((3 * -math.log(0.8) - math.log(0.6)) / 4)
    theirs = torch.nn.functional.cross_entropy(logits, torch.tensor([[[1, 0]]]), weight=weights.double())
    assert loss.item() == pytest.approx(theirs.item())


def test_focal_loss_multiplies_by_the_square_of_what_is_missing():
    """By hand, gamma 2: p = 0.8 gives 0.04 * -ln 0.8, p = 0.6 gives 0.16 * -ln 0.6; their mean."""
    loss = LOSSES["focal"](logits_of([0.8, 0.4]), hits_of([1, 0]), EVEN)

    assert loss.item() == pytest.approx((0.04 * -math.log(0.8) + 0.16 * -math.log(0.6)) / 2)


def test_dice_loss_counts_probability_over_labelled_pixels():
    """By hand, one pixel added to both sides. Class 1: 2 * 0.8 + 1 over 1 + (0.8 + 0.4) + 1; class 0: 2 * 0.6 + 1 over
    1 + (0.2 + 0.6) + 1. The ignored pixel adds nothing."""
    loss = LOSSES["dice"](logits_of([0.8, 0.4, 0.9]), hits_of([1, 0, VOID]), EVEN)

    assert loss.item() == pytest.approx(1 - (2.6 / 3.2 + 2.2 / 2.8) / 2)


def test_dice_leaves_out_a_class_that_the_batch_does_not_show():
    """By hand: only class 1 is there; 1 - (2 * 0.8 + 1) / (1 + 0.8 + 1)."""
    loss = LOSSES["dice"](logits_of([0.8]), hits_of([1]), EVEN)

    assert loss.item() == pytest.approx(1 - 2.6 / 2.8)


def test_a_sum_of_losses_is_their_sum():
    logits, hits = logits_of([0.8, 0.4]), hits_of([1, 0])

    total = build_loss("cross_entropy+dice")(logits, hits, EVEN)

    parts = [LOSSES[name](logits, hits, EVEN).item() for name in ("cross_entropy", "dice")]
    assert total.item() == pytest.approx(sum(parts))


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_and_its_gradient_is_finite_on_extremes(name: str):
    """Logits of +-1000, pixels all ignored, weights all 0: no division by zero, no log of zero."""
    for truth, weights in (([1, 0], EVEN), ([VOID, VOID], EVEN), ([1, 1], torch.tensor([1.0, 0.0]))):
        logits = torch.tensor([[[[1000.0, -1000.0]], [[-1000.0, 1000.0]]]], requires_grad=True)

        loss = LOSSES[name](logits, hits_of(truth), weights)
        loss.backward()

        assert torch.isfinite(loss) and torch.isfinite(logits.grad).all()


def test_an_unknown_or_repeated_loss_is_refused_with_the_options():
    with pytest.raises(ConfigError, match=r"did you mean dice.*cross_entropy, dice, focal"):
        build_loss("cross_entropy+dise")
    with pytest.raises(ConfigError, match="twice"):
        build_loss("dice+dice")


def test_weights_by_frequency():
    """By hand. Inverse: mean 60 pixels over 10, 40, 130. Median: 40 over the same."""
    pixels, names = [10, 40, 130], ("a", "b", "c")

    assert class_weights(pixels, method="none", names=names) == (1, 1, 1)
    assert class_weights(pixels, method="inverse_frequency", names=names) == pytest.approx((6, 1.5, 60 / 130))
    assert class_weights(pixels, method="median_frequency", names=names) == pytest.approx((4, 1, 40 / 130))


def test_inverse_frequency_makes_the_weight_of_the_mean_pixel_one():
    pixels = [10, 40, 130]
    weights = class_weights(pixels, method="inverse_frequency", names=("a", "b", "c"))

    assert sum(n * weight for n, weight in zip(pixels, weights, strict=True)) == pytest.approx(sum(pixels))


def test_a_class_without_pixels_weighs_nothing_and_is_named():
    with pytest.warns(SegcvWarning, match="holds b;"):
        weights = class_weights([10, 0, 30], method="inverse_frequency", names=("a", "b", "c"))

    assert weights == pytest.approx((2, 0, 20 / 30))


def test_the_rate_rises_to_its_peak_and_falls():
    """By hand: 100 steps, 10 of warm-up. One cycle starts at 1/25 of the peak and is at the peak at step 10; cosine is
    at half the peak in the middle of the fall, step 55."""
    one_cycle = learning_rate("one_cycle", peak=0.5, steps=100, warmup=0.1)
    cosine = learning_rate("cosine", peak=0.5, steps=100, warmup=0.1)

    assert one_cycle(0) == pytest.approx(0.02) and one_cycle(10) == pytest.approx(0.5) and one_cycle(99) < 1e-5
    assert [cosine(step) for step in (0, 10, 55)] == pytest.approx([0.5 / 11, 0.5, 0.25])
    assert learning_rate("constant", peak=0.5, steps=100, warmup=0)(37) == 0.5


def test_a_users_loss_is_one_part_of_a_sum():
    """By hand: tiny_models:unsure is the mean probability of the class that is not the truth, 0.2 and 0.4 here."""
    logits, hits = logits_of([0.8, 0.4]), hits_of([1, 0])
    own = build_loss("tiny_models:unsure")(logits, hits, EVEN).item()

    assert own == pytest.approx(0.3)
    both = build_loss("dice+tiny_models:unsure")(logits, hits, EVEN).item()
    assert both == pytest.approx(LOSSES["dice"](logits, hits, EVEN).item() + 0.3)
    with pytest.raises(ConfigError, match=r"loss\.name=tiny_models:none.*package\.module:function"):
        build_loss("tiny_models:none")

"""What stops a fit, each with the images at hand and the setting to change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from segcv.errors import ConfigError, TrainingError

SHOWN = 8        # images named in a message


def refuse_settings(*, epochs: int, batch_size: int, lr: float, weight_decay: float, clip: float | None, threads: int,
                    workers: int, checkpoint_steps: int | None, accumulate: int = 1, images: int | None = None) -> None:
    """Do nothing if the numbers make sense.

    Raises:
        ConfigError: the first that does not.
    """
    for name, value, least in (("epochs", epochs, 1), ("batch_size", batch_size, 1), ("threads", threads, 1),
                               ("workers", workers, 0), ("weight_decay", weight_decay, 0),
                               ("accumulate", accumulate, 1)):
        if value < least:
            raise ConfigError(f"{name}={value} must be {least} or more.")
    for name, number in (("lr", lr), ("clip", clip), ("checkpoint_steps", checkpoint_steps)):
        if number is not None and not (number > 0 and math.isfinite(number)):
            raise ConfigError(f"{name}={number} must be above 0.")
    if accumulate > 1 and images is not None and images <= batch_size:
        raise ConfigError(f"accumulate={accumulate} has no effect: the {images} training images are one batch of "
                          f"batch_size={batch_size}.")


def refuse_loss(loss: float, image_ids: Sequence[str], *, epoch: int, step: int, lr: float, clip: float | None,
                precision: str) -> None:
    """Do nothing if the loss is finite.

    Raises:
        TrainingError: it is NaN or infinite; the weights of the last checkpoint are still good.
    """
    if math.isfinite(loss):
        return
    advice = [f"a lower rate (lr={lr / 10:g})"]
    advice += ["cut gradients (clip=1)"] if clip is None else []
    advice += [f"precision={'bf16' if precision == 'fp16' else 'fp32'}"] if precision != "fp32" else []
    raise TrainingError(f"The loss became {loss} in epoch {epoch + 1}, step {step + 1}, on {_named(image_ids)}. "
                        f"Try {', or '.join(advice)}, and look at these images for values far from the others.")


@contextmanager
def explained(image_ids: Sequence[str]) -> Iterator[None]:
    """A block in which torch's errors of memory and of batches that are too small say what to change.

    Raises:
        TrainingError: in their place.
    """
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise TrainingError(_no_memory(image_ids)) from error
    except RuntimeError as error:
        if "can't allocate memory" not in str(error):
            raise
        raise TrainingError(_no_memory(image_ids)) from error
    except ValueError as error:
        if "more than 1 value per channel" not in str(error):
            raise
        raise TrainingError(f"This model normalises over its batch and pools to 1 x 1 px, so it cannot train on a "
                            f"batch of one image ({_named(image_ids)}). Use batch_size=2 or more and at least two "
                            "training images, or a model without global pooling.") from error


def _no_memory(image_ids: Sequence[str]) -> str:
    return (f"Out of memory on a batch of {len(image_ids)}: {_named(image_ids)}. Lower batch_size and raise accumulate "
            "by as much, which comes to the same but for batch norm; train on smaller windows (crop=PIXELS); or use "
            "precision=bf16. The last checkpoint is kept: with more memory the same command goes on.")


def _named(image_ids: Sequence[str]) -> str:
    more = f" and {len(image_ids) - SHOWN} more" if len(image_ids) > SHOWN else ""
    return ", ".join(image_ids[:SHOWN]) + more

"""A command line with places to fill, as `their_train --fold {fold} --train {train_csv} --out {out}`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from segcv.errors import ConfigError

PLACES = {
    "fold": "number of the fold", "seed": "the run's seed", "repeat": "number of the repeat",
    "train_csv": "images and masks to train on", "val_csv": "with stopping=early: images and masks of training groups "
    "that are held out inside, to stop or choose on", "test_csv": "the images to predict, those of the held-out groups",
    "out": "the folder to leave predictions in",
}
_PLACE = re.compile(r"\{([A-Za-z_]+)\}")
SETTING = "trainer.command"


def places_in(command: str) -> list[str]:
    """The names of the places in the command, in their order."""
    return _PLACE.findall(command)


def refuse_command(command: str, *, early: bool, seed: int, repeat: int) -> None:
    """Do nothing if the command can be filled and hears of all that it must.

    Raises:
        ConfigError: a place is unknown or missing, or the command cannot be read.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigError(f"{SETTING}: {error}; it is read as a shell reads words: {command}") from error
    if not words:
        raise ConfigError(f"trainer=command needs the command: {SETTING}='their_train --seed {{seed}} "
                          "--train {train_csv} --test {test_csv} --out {out}'")
    found = places_in(command)
    unknown = [name for name in found if name not in PLACES]
    if unknown:
        told = ", ".join(f"{{{name}}} ({what})" for name, what in PLACES.items())
        raise ConfigError(f"{SETTING}: {{{unknown[0]}}} is no place to fill. There are {told}.")
    if "out" not in found:
        raise ConfigError(f"{SETTING} needs {{out}}: the folder in which it leaves a prediction per held-out image.")
    if "train_csv" not in found and "fold" not in found:
        raise ConfigError(f"{SETTING} needs {{train_csv}}, or {{fold}}: else it cannot know what to train on.")
    if "val_csv" in found and not early:
        raise ConfigError(f"{SETTING} has {{val_csv}}, images to stop or choose on. These are never those that are "
                          "scored: type trainer.stopping=early, and whole training groups are held out inside for it. "
                          "The images to predict are {test_csv}.")
    if early and "val_csv" not in found:
        raise ConfigError(f"trainer.stopping=early holds training groups out inside, and {SETTING} has no {{val_csv}} "
                          "to hear of them. Add it, or leave trainer.stopping out.")
    for name, number in (("seed", seed), ("repeat", repeat if "train_csv" not in found else 0)):
        if number and name not in found:
            raise ConfigError(f"{name}={number} has no effect: {SETTING} has no {{{name}}}.")


def command_words(command: str, places: Mapping[str, str]) -> list[str]:
    """The words of the command with its places filled. No shell reads them, so a value is never split.

    >>> command_words("train --out '{out}/a b' -s {seed}", {"out": "/x y", "seed": "3"})
    ['train', '--out', '/x y/a b', '-s', '3']
    """
    return [_PLACE.sub(lambda place: places[place.group(1)], word) for word in shlex.split(command)]

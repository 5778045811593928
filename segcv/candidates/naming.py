"""What was typed as candidates, as names with the settings that each of them changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from segcv.errors import ConfigError


def candidate_changes(candidates: Sequence[Any]) -> dict[str, list[str]]:
    """Name -> overrides of each candidate, in declared order: a name stands for that file of conf/model.

    >>> candidate_changes(["unet_small", {"quick": ["optim.lr=0.01"]}])
    {'unet_small': ['model=unet_small'], 'quick': ['optim.lr=0.01']}

    Raises:
        ConfigError: an entry is of another shape, a name repeats or cannot name a folder, or there is none.
    """
    found: dict[str, list[str]] = {}
    for entry in candidates:
        if isinstance(entry, str):
            pairs = {entry: [f"model={entry}"]}
        elif isinstance(entry, dict) and all(isinstance(value, list) for value in entry.values()):
            pairs = {str(name): [str(change) for change in changes] for name, changes in entry.items()}
        else:
            raise ConfigError(f"candidates: {entry!r} is neither the name of a file in conf/model nor a list of "
                              'settings. Type for example \'candidates=[unet_small,{quick:["optim.lr=0.01"]}]\'.')
        for name, changes in pairs.items():
            if name in found:
                raise ConfigError(f"candidates: {name} is named twice. Give each its own name.")
            if not name or any(sign in name for sign in "/\\=:") or name.startswith("."):
                raise ConfigError(f"candidates: {name!r} cannot name a folder; use letters, digits, '_', '-', '.'.")
            found[name] = changes
    if not found:
        raise ConfigError("candidates=[] names none; name at least one, as candidates=[unet_small,unet_resnet18].")
    return found

"""What was typed behind a command: read as people mean it, or refused with the setting that was meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from hydra.errors import MissingConfigException, OverrideParseException
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException, ValidationError

_PLACES = re.compile(r"([\w.+@/-]+)=([^\"'{\[\s]*\{[a-z_]+\}.*)", re.DOTALL)      # setting=path/{place}.png
_COMMAND = re.compile(r"(trainer\.command)=([^\"'].*)", re.DOTALL)                  # any words
_COLOUR = re.compile(r"""(["']?)(?:#|0x)?([0-9A-Fa-f]{6})\1(?=\s*:)""")          # a key of data.colors
_KINDS = {"Integer": "a whole number", "Float": "a number", "Boolean": "true or false"}


def as_meant(argument: str, names: Mapping[str, str]) -> str:
    """What was typed, as Hydra takes it.

    The setting's own name where people type another; places such as {fold} quoted; colours, '3C1098', #3C1098 or
    3E1098, which Hydra refuses or takes for numbers, as 0x3C1098.
    """
    name, sign, value = argument.partition("=")
    if sign and name.lstrip("+") == "data.colors":
        return _COLOUR.sub(r"0x\2", argument)
    argument = f"{names[name]}{sign}{value}" if sign and name in names else argument
    found = _COMMAND.fullmatch(argument) or _PLACES.fullmatch(argument)      # Hydra would read a place as a mapping
    if found is None:
        return argument
    text = found.group(2).replace('"', '\\"')
    return f'{found.group(1)}="{text}"'


def refusal_of_typed(typed: Sequence[str], command: str, schema: type, conf: Path) -> str | None:
    """Why what was typed would have no effect, or None: `+new=1`, `~old`, `split.folds=3` where no split is named."""
    known = Known(schema, conf)
    for entry in typed:
        key = _key(entry)
        if entry.startswith("~") and not key.startswith("hydra"):
            return f"{entry}: a setting cannot be taken out. Leave it out, or type {key}=null."
        if entry.startswith("+") and not known.has(key):
            return known.no_such(key, command)
    given = {_key(entry) for entry in typed if not entry.startswith("-")}
    empty = [entry.name for entry in fields(schema) if entry.default is None]
    for part in sorted(given):
        whole = part.split(".")[0]
        if "." in part and whole in empty and whole not in given:
            return (f"{part} says something of {whole}, and no {whole} is named. Type also {whole}=NAME "
                    f"(a file of conf/{whole}), or leave {part} out.")
    return None


def refusal_of_error(error: Exception, command: str, schema: type, conf: Path) -> str:
    """What Hydra or OmegaConf refused, in the words of the settings: what was typed, what is wrong, what is there."""
    if isinstance(error, OverrideParseException):
        return (f"{error.override!r} is not a setting with a value: type name=value without spaces around =, and "
                f"quote for the shell what has brackets, braces or spaces: 'name=[a,b]'.")
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, name = error.missing_cfg_file.rpartition("/")
        there = sorted(path.stem for path in (conf / group).glob("*.yaml"))
        meant = _meant(name, there)
        return f"{group}={name}: there is no conf/{group}/{name}.yaml.{meant} There is: {', '.join(there)}."
    if ambiguous := re.match(r"Ambiguous value for argument '(.*)'", f"{error}"):
        return f"{ambiguous[1]} has several values: type -m for a sweep over them, or one value."
    cause = error if isinstance(error, OmegaConfBaseException) else error.__cause__
    if isinstance(cause, (ConfigAttributeError, ConfigKeyError)) and cause.full_key:
        return Known(schema, conf).no_such(cause.full_key, command)
    if isinstance(cause, ValidationError) and cause.full_key:
        found = re.match(r"Value '(.*)' of type .* could not be converted to (\w+)", f"{cause}")
        if found is not None:
            return f"{cause.full_key}={found[1]}: {found[1]!r} is not {_KINDS.get(found[2], found[2])}."
        if "is not a ListConfig" in f"{cause}":
            return f"{cause.full_key} takes a list: type '{cause.full_key}=[A,B]', in quotes."
        return f"{cause.full_key}: {str(cause).splitlines()[0]}"
    return str(error).splitlines()[0] + (f": {str(cause).splitlines()[0]}" if cause else "")


class Known:
    """The settings of a command: its schema's keys and the groups of conf/."""

    def __init__(self, schema: type, conf: Path) -> None:
        keys = dict(_keys(schema))
        self.keys, self.open = list(keys), [key for key, is_open in keys.items() if is_open]     # open: data.values.sky
        self.groups = [path.name for path in conf.iterdir() if path.is_dir()]

    def has(self, key: str) -> bool:
        """Is this a setting, a group, or a key of an open mapping?"""
        return (key.split(".")[0] == "hydra" or key.startswith("hydra/") or key in self.keys or key in self.groups
                or any(key.startswith(f"{whole}.") for whole in self.open))

    def no_such(self, key: str, command: str) -> str:
        """The refusal of an unknown setting."""
        below = [name for name in self.keys if name.rpartition(".")[0] == key.rpartition(".")[0]]
        meant = _meant(key, self.keys) or _meant(key.rpartition(".")[2], below)
        if not meant:
            same = [name for name in self.keys if name.rpartition(".")[2] == key.rpartition(".")[2]]
            meant = f" Did you mean {' or '.join(same[:3])}?" if same else ""
        listed = f" There is: {', '.join(below)}." if "." in key and below else ""
        return f"{key}: no such setting.{meant}{listed} All settings: python -m segcv.{command} --help"


def _key(entry: str) -> str:
    return entry.lstrip("+~").split("=")[0].split("@")[0]


def _meant(word: str, there: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, there, n=2, cutoff=0.6)
    return f" Did you mean {' or '.join(close)}?" if close else ""


def _keys(schema: type, above: str = "") -> Iterator[tuple[str, bool]]:
    """Every key, dotted, and whether it takes any keys below it."""
    for name, kind in get_type_hints(schema).items():
        kinds = get_args(kind) or (kind,)
        yield f"{above}{name}", any(one is Any or one is dict or get_origin(one) is dict for one in (kind, *kinds))
        for part in kinds:
            if isinstance(part, type) and is_dataclass(part):
                yield from _keys(part, f"{above}{name}.")

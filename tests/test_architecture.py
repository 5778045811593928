"""The floor plan as code: which room may enter which, who owns an outside library, and what stays unloaded."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "segcv"
EVERYWHERE = {"errors"}
ROOMS = {                       # room -> rooms it may enter, by their doors
    "tables": set(),
    "runs": {"tables"},
    "pixels": {"tables"},
    "metrics": set(),
    "scoring": {"tables", "pixels", "metrics"},
    "groups": {"tables", "pixels"},
    "splits": {"tables", "pixels"},
    "study": {"tables", "pixels", "groups", "splits", "settings"},
    "training": {"tables", "pixels", "metrics"},
    "prediction": {"tables", "pixels", "metrics", "scoring", "training"},
    "recipes": {"tables", "pixels", "metrics", "scoring", "training", "prediction", "nesting", "tracking", "settings"},
    "statistics": {"tables", "metrics"},
    "leakage": {"tables", "pixels", "groups", "splits", "metrics", "statistics", "runs"},
    "nesting": {"tables", "splits", "statistics"},
    "launching": {"tables"},
    "tracking": {"tables"},
    "programs": {"tables", "pixels", "scoring", "launching", "settings"},
    "candidates": {"tables", "study", "scoring", "nesting", "recipes", "launching", "runs", "settings"},
    "sweeps": {"tables", "pixels", "metrics", "runs", "splits", "scoring"},
    "reporting": {"tables", "metrics", "statistics"},
}
COMMANDS = {
    "aggregate",
    "audit",
    "check_serving",
    "compare",
    "convert",
    "doctor",
    "evaluate",
    "fit_final",
    "gallery",
    "nested",
    "plan",
    "predict",
    "split",
    "sweep",
    "train",
}
# beside the commands; rooms see only what ROOMS says
SHARED_FILES = {"errors", "settings", "recipe_settings", "report_settings", "overrides", "config"}
OWNERS = {                      # outside library -> the only places that import it
    "hydra": {"config", "overrides", "hydra_plugins"} | COMMANDS,
    "omegaconf": {"config", "overrides", "hydra_plugins"} | COMMANDS,
    "submitit": {"launching"},
    "ray": {"launching"},
    "rich": {"launching", "aggregate"},
    "fiftyone": {"sweeps"},
    "torch": {"training", "prediction", "tracking"},      # in tracking: its writer of TensorBoard files
    "mlflow": {"tracking"},
    "wandb": {"tracking"},
    "torchvision": {"training", "prediction"},
    "segmentation_models_pytorch": {"training"},
    "albumentations": {"training"},
    "PIL": {"pixels"},
    "pycocotools": {"pixels"},
    "tifffile": {"pixels"},
    "rasterio": {"pixels"},
    "nibabel": {"pixels"},
    "imagecodecs": {"pixels"},
    "imagehash": {"pixels"},
    "cv2": {"pixels", "metrics", "groups", "training", "prediction"},     # arithmetic outside pixels; files only inside
}
FILE_OPENERS = {"imread", "imwrite", "imdecode", "imencode", "imreadmulti"}


def python_files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "conf" not in path.relative_to(PACKAGE).parts)


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports_of(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every imported module with the names taken from it, wherever in the file it stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write the full name"
            yield node.module or "", tuple(alias.name for alias in node.names)


def test_every_room_is_on_the_floor_plan():
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    files = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}

    assert rooms == set(ROOMS)
    assert files == COMMANDS | SHARED_FILES


def test_the_floor_plan_has_no_circle():
    waiting = {room: set(doors) & set(ROOMS) for room, doors in ROOMS.items()}
    while waiting:
        free = {room for room, doors in waiting.items() if not doors & set(waiting)}
        assert free, f"these rooms enter each other in a circle: {sorted(waiting)}"
        waiting = {room: doors for room, doors in waiting.items() if room not in free}


@pytest.mark.parametrize("path", python_files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_rooms_are_entered_by_their_doors_and_only_where_the_plan_allows(path: Path):
    here = room_of(path)
    for module, _ in imports_of(path):
        parts = module.split(".")
        if parts[0] != "segcv" or len(parts) == 1:
            continue
        there = parts[1]
        if there == here and here in ROOMS:
            continue
        assert there not in COMMANDS, f"{path} imports the command {there}"
        allowed = ROOMS[here] if here in ROOMS else set(ROOMS) | SHARED_FILES
        assert there in allowed | EVERYWHERE, f"{path}: {here} may not enter {there}"
        assert len(parts) == 2, f"{path}: {module} goes through a window; import from segcv.{there}"


@pytest.mark.parametrize("path", python_files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_outside_libraries_stay_with_their_owners(path: Path):
    here = "hydra_plugins" if "hydra_plugins" in path.parts else room_of(path)
    for module, _ in imports_of(path):
        owners = OWNERS.get(module.split(".")[0])
        assert owners is None or here in owners, f"{path}: only {sorted(owners or ())} may import {module}"
    if here != "pixels":
        calls = {node.attr for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                 if isinstance(node, ast.Attribute)}
        assert not calls & FILE_OPENERS, f"{path}: only pixels opens image files"


@pytest.mark.parametrize("path", python_files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_chance_without_an_argument_and_no_print_below_a_command(path: Path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            assert room_of(path) in COMMANDS | {"config"}, f"{path}:{node.lineno} prints below a command"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
            numpy_global = node.value.attr == "random" and node.attr in {"seed", "rand", "randn", "choice", "shuffle"}
            assert not numpy_global, f"{path}:{node.lineno} draws from numpy's global generator"
        if isinstance(node, ast.Import):
            assert "random" not in {alias.name for alias in node.names}, f"{path}: the random module is global"


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_every_door_has_a_docstring_and_says_what_is_public(room: str):
    door = importlib.import_module(f"segcv.{room}")

    assert door.__doc__
    assert list(door.__all__) and all(getattr(door, name) is not None for name in door.__all__)


@pytest.mark.parametrize(("module", "blocked"), [
    ("segcv.statistics", ["numba", "cv2", "PIL", "torch", "hydra", "sklearn", "statsmodels", "filelock", "tqdm"]),
    ("segcv.reporting", ["numba", "cv2", "PIL", "torch", "hydra"]),
    ("segcv.metrics", ["numba", "cv2", "PIL", "torch", "hydra"]),
    ("segcv.scoring", ["torch", "hydra"]),
    ("segcv.study", ["torch", "hydra"]),
])
def test_importing_a_room_does_not_load_what_it_does_not_own(module: str, blocked: list[str]):
    """A blocked import raises, so the process ends with an error if the room loads it on import."""
    block = "; ".join(f"sys.modules[{name!r}] = None" for name in blocked)

    code = f"import sys; {block}; import {module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr


def test_help_does_not_load_what_makes_it_slow():
    code = "import sys, segcv.train, segcv.split, segcv.aggregate; print({'torch','pandas','numpy'} & set(sys.modules))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.stdout.strip() == "set()", done.stdout + done.stderr


def test_modules_are_short():
    long = {str(path.relative_to(PACKAGE)): lines for path in python_files()
            if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 400}

    assert not long

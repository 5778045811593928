"""A file of first weights is known by its content."""

from __future__ import annotations

from pathlib import Path

import pytest

from segcv.errors import ModelError
from segcv.settings import ModelSettings, TrainCommand
from segcv.tables import file_id
from segcv.train import refuse_settings


def test_a_file_is_known_by_its_content_and_not_by_its_place(tmp_path: Path):
    """b2sum of b"abc", with 32 bytes, begins so (RFC 7693's algorithm, by the tool of coreutils)."""
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"abc")
    (tmp_path / "c").write_bytes(b"abd")

    assert file_id(tmp_path / "a") == file_id(tmp_path / "b") == "bddd813c634239723"[:16]
    assert file_id(tmp_path / "c") != file_id(tmp_path / "a")


def test_a_file_of_weights_that_is_not_there_is_refused_before_anything(tmp_path: Path):
    with pytest.raises(ModelError, match=r"nowhere\.pt: there is no such file"):
        refuse_settings(TrainCommand(fold=0, model=ModelSettings(weights_file=str(tmp_path / "nowhere.pt"))))

"""What every test may ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real images and cases beside the checkout; tests that need it are skipped elsewhere."""
    if not SHARED.is_dir():
        pytest.skip(f"needs the folder {SHARED.name} beside the checkout")
    return SHARED

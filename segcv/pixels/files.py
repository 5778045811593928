"""Files as bytes: read whole before decoding (so that any path works), what kind they are, what is wrong with them."""

from __future__ import annotations

import unicodedata
import zlib
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

MAX_PIXELS = 100_000_000        # height x width above which a file is refused before it is decoded

_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "PNG"), (b"\xff\xd8\xff", "JPEG"), (b"BM", "BMP"),
    (b"II*\x00", "TIFF"), (b"MM\x00*", "TIFF"), (b"II+\x00", "TIFF"), (b"MM\x00+", "TIFF"),
    (b"GIF8", "GIF"), (b"\x93NUMPY", "NPY"), (b"PK\x03\x04", "NPZ"),
)
_OTHERS = (
    (b"\x1f\x8b", "is compressed by gzip (a NIfTI volume?)", "Write each slice as PNG or TIFF."),
    (b"\x89HDF", "is an HDF5 file", "Write each picture as PNG or TIFF."),
    (b"\x00\x00\x00\x0cjP", "is a JPEG 2000", "Convert it to TIFF."),
    (b"version https://git-lfs", "is a Git LFS pointer, not the picture", "Fetch the files: git lfs pull"),
)


class Fault(Exception):
    """What is wrong with one file and what cures it, before the file's name is put in front."""

    def __init__(self, found: str, cure: str) -> None:
        super().__init__(found, cure)
        self.found = found
        self.cure = cure

    def about(self, path: Path) -> str:
        """The whole message."""
        return f"{path}: {self.found}. {self.cure}"


def read_bytes(path: Path, *, first: int | None = None) -> bytes:
    """The file's content, or its `first` bytes."""
    try:
        with path.open("rb") as file:
            return file.read(-1 if first is None else first)
    except FileNotFoundError:
        near = _alike(path)
        raise Fault(f"there is no such file{near}", "Put it there, or take its row out of the table." if not near else
                    "Write the name as the file has it.") from None
    except OSError as error:
        raise Fault(f"cannot be opened ({error.strerror})", "Check the path and its permissions.") from error


def _alike(path: Path) -> str:
    """The name of a file beside `path` that differs in case or in Unicode form only, as messages add it."""
    wanted = _folded(path.name)
    for name in _names(path.parent):
        if _folded(name) == wanted and name != path.name:
            how = "case" if unicodedata.normalize("NFC", name) != unicodedata.normalize("NFC", path.name) else (
                "the Unicode form of its letters")
            return f", but {name!r} is there, which differs in {how}"
    return ""


@lru_cache(maxsize=4)
def _names(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(path.name for path in folder.iterdir())) if folder.is_dir() else ()


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def content_hash(data: bytes) -> str:
    """Name of the content: 32 hexadecimal digits of BLAKE2b."""
    return blake2b(data, digest_size=16).hexdigest()


def file_kind(data: bytes) -> str:
    """PNG, JPEG, TIFF, BMP, GIF, WEBP, NPY or NPZ, told by the first bytes and never by the suffix."""
    for magic, kind in _KINDS:
        if data.startswith(magic):
            return kind
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "WEBP"
    if not data:
        raise Fault("is empty (0 bytes)", "Copy it again from its origin.")
    for magic, found, cure in _OTHERS:
        if data.startswith(magic):
            raise Fault(found, cure)
    raise Fault(f"is damaged, or not a PNG, JPEG, TIFF, BMP, GIF or WebP file (it begins with {data[:8]!r})",
                "Convert it to PNG or TIFF, or copy it again from its origin.")


def refuse_huge(height: int, width: int, max_pixels: int) -> None:
    """Refuse more than `max_pixels`, from the size in the header."""
    if height * width > max_pixels:
        raise Fault(f"is {height}x{width} (height x width), {height * width} pixels; the limit is {max_pixels}",
                    "Cut it into tiles and list these with one source_id, or raise the limit: "
                    f"data.max_pixels={height * width}")


def damaged(error: BaseException | str) -> Fault:
    """The fault of a file whose decoder gave up with `error`."""
    said = str(error) or type(error).__name__
    return Fault(f"is damaged, truncated or corrupt and cannot be read ({said})", "Copy it again from its origin.")


def refuse_broken_png(data: bytes) -> None:
    """Refuse a PNG that ends early or has a chunk with a wrong checksum (decoders let some of these pass)."""
    at = 8
    while at + 12 <= len(data):
        length = int.from_bytes(data[at:at + 4], "big")
        end = at + 12 + length
        if end > len(data):
            break
        name = data[at + 4:at + 8]
        if zlib.crc32(memoryview(data)[at + 4:end - 4]) != int.from_bytes(data[end - 4:end], "big"):
            raise damaged(f"checksum of chunk {name.decode('latin-1')} is wrong")
        if name == b"IEND":
            return
        at = end
    raise damaged("the file ends before the picture does")

"""Images as arrays: one rule for every format, kept in the range they are stored in."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import (
    BmpImagePlugin,
    GifImagePlugin,
    Image,
    ImageFile,
    JpegImagePlugin,
    PngImagePlugin,
    WebPImagePlugin,
)

from segcv.errors import ImageFileError
from segcv.pixels.files import MAX_PIXELS, Fault, damaged, file_kind, read_bytes, refuse_broken_png, refuse_huge
from segcv.pixels.quick import decode_quick
from segcv.pixels.tiff import TiffPicture, decode_tiff, tiff_size

_OPENERS: dict[str, Callable[[IO[bytes]], ImageFile.ImageFile]] = {
    "PNG": PngImagePlugin.PngImageFile, "JPEG": JpegImagePlugin.JpegImageFile, "BMP": BmpImagePlugin.BmpImageFile,
    "GIF": GifImagePlugin.GifImageFile, "WEBP": WebPImagePlugin.WebPImageFile,
}
_PNG_BANDS = {2: 3, 4: 2, 6: 4}      # of coloured and transparent pictures, by the colour type in the header
_ORIENTATION = 274                   # the EXIF tag
_EXACT_IN_FLOAT32 = 2**24
_HEAD = 64                           # bytes that tell the kind of a file


@dataclass(frozen=True, slots=True)
class Storage:
    """How an image file keeps its picture, where readers of other tools may differ."""

    orientation: int                 # EXIF, 1..8; 1: as stored
    palette: bool
    alpha: bool


def read_image(path: Path, *, max_pixels: int = MAX_PIXELS) -> NDArray[Any]:
    """The image in a PNG, JPEG, TIFF, BMP, GIF or WebP file, H x W x bands, in its stored range.

    uint8, uint16 or float32. Bands are red, green, blue, then alpha or further bands; grey pictures keep the third
    axis, palettes are expanded to RGB (RGBA when transparent), 1-bit pictures hold 0 and 255, other whole numbers
    become float32 when that is exact. EXIF orientation is applied: the array is the picture as it is shown.

    Raises:
        ImageFileError: the file is missing, damaged, larger than `max_pixels` (told from its header), holds
            several pictures, or colours that are not RGB or grey.
    """
    try:
        return decode_image(read_bytes(path), max_pixels=max_pixels)
    except Fault as fault:
        raise ImageFileError(fault.about(path)) from fault.__cause__


def decode_image(data: bytes, *, max_pixels: int = MAX_PIXELS) -> NDArray[Any]:
    """`read_image` of a file's content; raises Fault."""
    return decode_stored(data, max_pixels=max_pixels)[0]


def decode_stored(data: bytes, *, max_pixels: int = MAX_PIXELS) -> tuple[NDArray[Any], Storage]:
    """`read_image` of a file's content, and how the file keeps it; raises Fault."""
    kind = file_kind(data)
    if kind == "TIFF":
        tiff = decode_tiff(data, max_pixels=max_pixels)
        return image_of_tiff(tiff), Storage(tiff.orientation, tiff.palette is not None, tiff.alpha)
    quick = decode_quick(data, kind, max_pixels=max_pixels)
    if quick is not None:
        return quick, Storage(1, palette=False, alpha=quick.shape[2] == 4)
    picture = open_picture(data, max_pixels=max_pixels)
    how = orientation(picture)
    samples = _picture_bands(picture, data)
    alpha = "A" in picture.mode or "transparency" in picture.info
    return (turned(_native(samples.reshape(*samples.shape[:2], -1)), how),
            Storage(how, picture.mode in ("P", "PA"), alpha))


def image_of_tiff(tiff: TiffPicture) -> NDArray[Any]:
    """A decoded TIFF, or a window of one, as `read_image` gives it."""
    return turned(_native(_tiff_bands(tiff)), tiff.orientation)


def sizes(path: Path) -> tuple[tuple[int, int], tuple[int, int]]:
    """Height and width of an image as it is shown, and as it is stored, from its header alone.

    They differ where an EXIF orientation turns it by 90°.

    Raises:
        ImageFileError: the file is missing, or has no readable header.
    """
    try:
        kind = file_kind(read_bytes(path, first=_HEAD))
        if kind == "TIFF":
            height, width, how = tiff_size(path)
        else:
            with path.open("rb") as file:
                picture = _opener(kind)(file)
                height, width, how = picture.height, picture.width, orientation(picture)
    except Fault as fault:
        raise ImageFileError(fault.about(path)) from fault.__cause__
    except Exception as error:
        raise ImageFileError(damaged(error).about(path)) from error
    return ((width, height) if how in (5, 6, 7, 8) else (height, width)), (height, width)


def open_picture(data: bytes, *, max_pixels: int) -> Image.Image:
    """The decoded picture in a PNG, JPEG, BMP, GIF or WebP file, in the mode it is stored in.

    The format's own class is called, because `Image.open` has a limit of its own, kept in a global.
    """
    kind = file_kind(data)
    try:
        picture = _opener(kind)(io.BytesIO(data))
        refuse_huge(picture.height, picture.width, max_pixels)
        if kind == "PNG":
            refuse_broken_png(data)
        frames = int(getattr(picture, "n_frames", 1))
        if frames > 1:
            raise Fault(f"is an animation of {frames} pictures", "Write each picture to its own file.")
        picture.load()
    except Fault:
        raise
    except Exception as error:       # a decoder meets a broken file with any exception whatever
        raise damaged(error) from error
    return picture


def _opener(kind: str) -> Callable[[IO[bytes]], ImageFile.ImageFile]:
    if kind not in _OPENERS:
        raise Fault("is an array of numpy, and images are pictures", "Write it as TIFF.")
    return _OPENERS[kind]


def orientation(picture: Image.Image) -> int:
    """EXIF orientation, 1..8; 1 (as stored) when there is none or it cannot be read."""
    try:
        found = picture.getexif().get(_ORIENTATION, 1)
    except (SyntaxError, ValueError, KeyError, struct.error, OSError):
        return 1
    return found if found in range(1, 9) else 1


def turned(samples: NDArray[Any], how: int) -> NDArray[Any]:
    """Stored samples as they are shown, after EXIF orientation `how`; an array that may be written to."""
    if how in (5, 6, 7, 8):
        samples = samples.swapaxes(0, 1)
    if how in (3, 4, 7, 8):
        samples = samples[::-1]
    if how in (2, 3, 6, 7):
        samples = samples[:, ::-1]
    return np.require(samples, requirements=("C", "W"))


def _picture_bands(picture: Image.Image, data: bytes) -> NDArray[Any]:
    mode = picture.mode
    if picture.format == "PNG" and data[24] == 16 and data[25] in _PNG_BANDS:       # bit depth, colour type
        return _png_16_bit(data, bands=_PNG_BANDS[data[25]])
    if mode == "1":
        return np.asarray(picture).astype(np.uint8) * np.uint8(255)
    if mode in ("P", "PA"):
        transparent = mode == "PA" or "transparency" in picture.info
        return np.asarray(picture.convert("RGBA" if transparent else "RGB"))
    if mode in ("L", "LA", "RGB", "RGBA", "F") or mode.startswith("I;16"):
        return np.asarray(picture)
    if mode == "I":
        return np.asarray(picture).astype(np.uint16) if picture.format == "PNG" else np.asarray(picture)
    raise Fault(f"holds {mode} colours", "Convert it to RGB.")


def _png_16_bit(data: bytes, *, bands: int) -> NDArray[Any]:
    """Colour PNGs of 16 bits, which Pillow would cut to 8."""
    found: NDArray[Any] | None = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if found is None or found.dtype != np.uint16 or found.ndim != 3:
        raise damaged("16-bit colour picture")
    order = [0, found.shape[2] - 1] if bands == 2 else [2, 1, 0, 3][:bands]           # of two, OpenCV repeats the grey
    return np.ascontiguousarray(found[:, :, order])


def _tiff_bands(tiff: TiffPicture) -> NDArray[Any]:
    if tiff.palette is not None:
        return np.asarray(tiff.palette[tiff.samples[:, :, 0]])
    if tiff.bits == 1:
        return np.where(tiff.samples != 0, np.uint8(255), np.uint8(0))
    return tiff.samples


def _native(samples: NDArray[Any]) -> NDArray[Any]:
    """As uint8, uint16 or float32."""
    kind = samples.dtype
    if kind == np.uint8:
        return samples
    if kind.kind == "u" and kind.itemsize == 2:
        return samples.astype(np.uint16)             # in this machine's byte order
    if kind.kind in "iu" and (kind.itemsize <= 2 or np.abs(samples.astype(np.int64)).max() <= _EXACT_IN_FLOAT32):
        return samples.astype(np.float32)
    if kind.kind == "f":
        return samples.astype(np.float32)
    raise Fault(f"holds numbers of type {kind.name} beyond {_EXACT_IN_FLOAT32}, which float32 cannot hold exactly",
                "Scale it to 16 bits, or to float32.")

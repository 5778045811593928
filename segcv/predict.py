"""python -m segcv.predict model=FOLDER images=FOLDER: new images -> masks, refusing what the model was not made for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from segcv.config import command, progress_bar
from segcv.errors import ConfigError, ImageFileError, SegcvError, SegcvWarning
from segcv.settings import PredictCommand

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from segcv.pixels import BandMoments, OpenImage
    from segcv.prediction import Members

FORMATS, CONTRACTS = ("png", "tiff", "npy"), ("refuse", "warn")
NOTE = "predictions.json"


@command("predict")
def main(settings: PredictCommand) -> None:
    """Predict every image that is not predicted yet; images that are refused are listed at the end."""
    predicted(settings)


def predicted(settings: PredictCommand) -> None:
    """Do that.

    Raises:
        SegcvError: images were refused; the others are predicted.
    """
    refuse_settings(settings)
    import pandas as pd

    from segcv.prediction import load_members
    from segcv.tables import find_images, replacing, write_json

    images = find_images(Path(settings.images))
    members = load_members(Path(settings.model_folder))
    own = OwnMoments(settings, members, images)
    out = Path(settings.out)
    refuse_other_model(out, members.fingerprint)
    write_json(out / NOTE, {"model": settings.model_folder, "members": list(members.names),
                            "fingerprint": members.fingerprint, "classes": list(members.labels.names)})
    rows, refused = [], []
    places = zip(images["image_id"], images["image_path"], strict=True)
    for image_id, path in progress_bar(places, total=len(images), what="predicting"):
        target = out / f"{image_id}.{settings.format}"
        try:
            if not target.is_file():
                predict_one(settings, members, image_id, Path(path), out, own=own.of(image_id))
            rows.append({"image_id": image_id, "image_path": path,
                         "prediction_path": target.relative_to(out).as_posix()})
        except ImageFileError as error:
            refused.append(str(error))
    with replacing(out / "predictions.csv") as beside:
        pd.DataFrame(rows, columns=["image_id", "image_path", "prediction_path"]).to_csv(beside, index=False)
    print(f"{len(rows)} of {len(images)} images predicted: {out / 'predictions.csv'}")
    if refused:
        listed = "".join(f"\n  {reason}" for reason in refused[:20])
        more = f"\n  and {len(refused) - 20} more" if len(refused) > 20 else ""
        raise SegcvError(f"{len(refused)} of {len(images)} images were not predicted:{listed}{more}\nConvert them the "
                         "way the training images were made, or predict them all the same: contract=warn")


def predict_one(settings: PredictCommand, members: Members, image_id: str, path: Path, out: Path, *,
                own: BandMoments | None = None) -> None:
    """Write the labels of one image, and its probabilities where they are asked for; the labels last. `own`: mean and
    std of its source, where the model normalises sources.

    Raises:
        ImageFileError: the image cannot be read, or breaks the contract of one of the members.
    """
    import tempfile

    import numpy as np

    from segcv.pixels import open_image
    from segcv.prediction import predicted_rows

    choices: dict[str, Any] = {
        "tile": settings.prediction.tile, "overlap": settings.prediction.overlap,
        "batch_size": settings.prediction.batch_size, "device": settings.device, "threads": settings.threads,
        "precision": settings.precision, "max_pixels": 2**62}
    with open_image(path) as image, tempfile.TemporaryDirectory(dir=out, prefix=".predicting-") as folder:
        height, width = image.shape
        kind = "uint8" if members.labels.n_classes <= 255 else "uint16"
        labels = np.memmap(Path(folder) / "labels", kind, "w+", shape=(height, width))
        classes = members.labels.n_classes
        shares = np.memmap(Path(folder) / "shares", "float32", "w+", shape=(
            height, width, classes)) if settings.probabilities else None
        top = 0
        for found, probabilities in predicted_rows(
                members, image, window=settings.window, margin=settings.prediction.overlap,
                refuse=lambda piece: refuse_unfit(settings, members, piece, path), own=own, **choices):
            labels[top:top + len(found)] = found
            if shares is not None:
                shares[top:top + len(found)] = np.moveaxis(probabilities, 0, -1)
            top += len(found)
        if shares is not None:
            write_array(shares, out / "probabilities" / f"{image_id}.{settings.probabilities}", like=path)
        write_array(labels, out / f"{image_id}.{settings.format}", like=path)


class OwnMoments:
    """Mean and std of each source, read when its first image is predicted; nothing for models that need none.

    Raises:
        ConfigError: the model normalises sources and nothing says what they are, or a pattern that has no effect.
    """

    def __init__(self, settings: PredictCommand, members: Members, images: pd.DataFrame) -> None:
        by_source = [model.preprocessing for model in members.models if model.preprocessing.by_source]
        pattern, known = settings.source_pattern, "source_id" in images
        if pattern is not None and (known or not by_source):
            why = "the table says them in source_id" if known else "this model does not normalise sources"
            raise ConfigError(f"source_pattern={pattern} has no effect: {why}. Leave it out.")
        if by_source and pattern is None and not known:
            raise ConfigError("this model normalises the images of each source (a volume's slices) by their mean and "
                              "deviation together. Say which belong together: images=TABLE.csv with a column "
                              "source_id, or source_pattern='^(.*)_[0-9]+$', whose group is the source.")
        self.settings, self.contract = settings, by_source[0] if by_source else None
        self.images, self.found = images, dict[str, Any]()
        if self.contract is not None:
            self.images = images.assign(source=images["source_id"] if known else [
                source_in(image_id, str(pattern)) for image_id in images["image_id"]])

    def of(self, image_id: str) -> BandMoments | None:
        """Those of this image's source; None where the model asks for none."""
        if self.contract is None:
            return None
        source = self.images.set_index("image_id")["source"][image_id]
        if source not in self.found:
            from segcv.prediction import raster_moments

            paths = self.images.loc[self.images["source"].eq(source), "image_path"]
            self.found[source] = raster_moments(opened(paths), self.contract, window=self.settings.window)
        return cast("BandMoments", self.found[source])


def opened(paths: Iterable[str]) -> Iterator[OpenImage]:
    """Images, open one after the other."""
    from segcv.pixels import open_image

    for path in paths:
        with open_image(Path(path)) as image:
            yield image


def source_in(image_id: str, pattern: str) -> str:
    """What the group of the pattern finds in an image id.

    Raises:
        ConfigError: it finds nothing, or is no expression with a group.
    """
    import re

    try:
        found = re.search(pattern, image_id)
        if found is not None:
            return found.group(1)
    except (re.error, IndexError) as error:
        raise ConfigError(f"source_pattern={pattern} is no regular expression with a group ({error}).") from error
    raise ConfigError(f"source_pattern={pattern} finds no source in the image id {image_id}.")


def write_array(values: NDArray[Any], target: Path, *, like: Path) -> None:
    """Write H x W labels, or H x W x classes probabilities, as the suffix of `target` says."""
    import numpy as np

    from segcv.pixels import write_mask, write_raster
    from segcv.tables import replacing

    if target.suffix == ".png":
        write_mask(target, np.asarray(values))
    elif target.suffix == ".tiff":
        rows = max(1, (1 << 24) // max(1, int(np.prod(values.shape[1:]))))
        write_raster(target, (values[top:top + rows] for top in range(0, len(values), rows)), shape=values.shape,
                     dtype=values.dtype, like=like)
    else:
        turned = values if values.ndim == 2 else np.moveaxis(values, -1, 0)
        with replacing(target) as beside:
            np.lib.format.open_memmap(beside, "w+", values.dtype, turned.shape)[...] = turned


def refuse_unfit(settings: PredictCommand, members: Members, image: NDArray[Any], path: Path) -> None:
    """Refuse, or warn of, what breaks the contract of one of the members; other bands or types are always refused.

    Raises:
        ImageFileError: with every fault found.
    """
    import warnings

    from segcv.prediction import contract_faults

    for model in members.models:
        model.preprocessing.check(image, path)
        faults = contract_faults(image, model.preprocessing, path=path, smallest=model.network.stride)
        if faults and settings.contract == "refuse":
            raise ImageFileError(" ".join(faults))
        if faults:
            warnings.warn(" ".join(faults), SegcvWarning, stacklevel=2)


def refuse_other_model(out: Path, fingerprint: str) -> None:
    """Refuse to put predictions of another model beside those that lie in `out`."""
    from segcv.tables import read_json

    if (out / NOTE).is_file():
        if read_json(out / NOTE).get("fingerprint") != fingerprint:
            raise ConfigError(f"{out} holds predictions of another model. Name another folder: out=FOLDER")
    elif out.is_dir() and any(out.iterdir()):
        raise ConfigError(f"{out} is not empty and holds no {NOTE}. Name another folder: out=FOLDER")


def refuse_settings(settings: PredictCommand) -> None:
    """Refuse what can be refused before anything is read."""
    if settings.format not in FORMATS:
        raise ConfigError(f"format={settings.format} is not known; use one of {', '.join(FORMATS)}.")
    if settings.probabilities not in (None, "npy", "tiff"):
        raise ConfigError(f"probabilities={settings.probabilities} is not known; use npy or tiff, or null.")
    if settings.contract not in CONTRACTS:
        raise ConfigError(f"contract={settings.contract} is not known; use one of {', '.join(CONTRACTS)}.")


if __name__ == "__main__":
    main()

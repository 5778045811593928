"""python -m segcv.gallery run=FOLDER: pictures of one run, or of all runs of a candidate, as a page or in FiftyOne."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from segcv.config import command, progress_bar
from segcv.errors import ConfigError
from segcv.report_settings import GalleryCommand

if TYPE_CHECKING:
    import pandas as pd

    from segcv.splits import Split
    from segcv.sweeps import Sweep

FORMS = ("html", "fiftyone")


@command("gallery")
def main(settings: GalleryCommand) -> None:
    """Cut pictures of the images worth looking at into one page, or hand all images to FiftyOne."""
    refuse_settings(settings)
    from segcv.sweeps import chosen_sweep, export_fiftyone, named_run, scores_of, set_name, split_of

    runs = Path(settings.runs)
    if settings.run is not None:
        runs, record = named_run(runs, settings.run)
        sweep, title, name = [record], record.run_id, "_".join(Path(record.run_id).parts[1:])
    else:
        sweep = chosen_sweep(runs, candidate=settings.candidate, config_id=settings.config_id)[0]
        title, name = set_name(sweep[0]), "all"
    beside = runs / set_name(sweep[0])
    split = split_of(sweep[0])
    scores = scores_of(runs, sweep, split)
    images = scored(sweep, split, scores)
    if settings.to == "html":
        path = Path(settings.out) if settings.out else beside / "gallery" / f"{name}.html"
        print(page(settings, runs, sweep, split, images, scores, title=title, path=path))
        return
    dataset = settings.dataset or f"segcv {title}"
    folder = Path(settings.out) if settings.out else beside / "fiftyone" / name
    number = export_fiftyone(runs, sweep, split, images, scores, name=dataset, folder=folder, replace=settings.replace,
                             progress=progress_bar)
    print(f"FiftyOne dataset {dataset!r}: {number} of {len(images)} images. To look at it: fiftyone app launch "
          f"{dataset!r}")


def scored(sweep: Sweep, split: Split, scores: pd.DataFrame) -> pd.DataFrame:
    """image_id, group_id, fold and mean score over the runs, of the report's headline metric."""
    from segcv.metrics import image_scores
    from segcv.statistics import image_means, scored_images
    from segcv.sweeps import table_of

    found = scored_images(scores, runs=table_of(sweep), class_names=split.class_names)
    return image_means(found, image_scores(found.counts, metric="iou", policy="union"))


def page(settings: GalleryCommand, runs: Path, sweep: Sweep, split: Split, images: pd.DataFrame,
         scores: pd.DataFrame, *, title: str, path: Path) -> str:
    """Write the page and say so; refuse where no image is at hand."""
    from segcv.errors import RunError
    from segcv.reporting import GalleryEvidence, Picture, write_gallery
    from segcv.sweeps import cut_pictures, legend_of, suspect_images

    suspects = suspect_images(runs, sweep, split, images, progress=progress_bar)
    reasons = dict(zip(suspects["image_id"], suspects["reason"], strict=True))
    found = cut_pictures(runs, sweep, split, images, scores, suspects=list(reasons), most=settings.most,
                         side=settings.side, progress=progress_bar)
    if not found:
        raise RunError(f"{runs / title}: none of its images can be shown; images, masks or predicted masks are not "
                       f"where they were ({split.images['image_path'].iloc[0]}). Bring them back to these places.")
    write_gallery(path, GalleryEvidence(
        title=title, images=len(images), score=float(images["score"].mean()), runs=len(sweep),
        pictures=tuple(Picture(one.image_id, one.group_id, str(one.fold), one.classes, one.score, one.why, one.panels,
                               one.scores, reasons.get(one.image_id, "")) for one in found),
        legend=legend_of(split), suspects=suspects, leaking=sweep[0].leaking), language=settings.language)
    return f"Gallery: {path} ({len(found)} of {len(images)} images)"


def refuse_settings(settings: GalleryCommand) -> None:
    """Refuse settings that contradict each other, are out of range, or have no effect."""
    if settings.to not in FORMS:
        raise ConfigError(f"to={settings.to} is not known; use one of {', '.join(FORMS)}.")
    for name in ("candidate", "config_id"):
        if settings.run is not None and getattr(settings, name) is not None:
            raise ConfigError(f"{name}={getattr(settings, name)} has no effect beside run={settings.run}; a run has "
                              "its candidate and settings. Leave one out.")
    if settings.to == "html" and (settings.dataset is not None or settings.replace):
        raise ConfigError("dataset and replace have an effect with to=fiftyone only.")
    for name, low, high in (("side", 32, 1024), ("most", 1, 2000)):
        if not low <= getattr(settings, name) <= high:
            raise ConfigError(f"{name}={getattr(settings, name)} must lie between {low} and {high}.")


if __name__ == "__main__":
    main()

"""python -m segcv.convert: COCO, LabelMe or CVAT annotations -> label masks, their images table, their class list."""

from __future__ import annotations

from segcv.config import command, progress_bar
from segcv.settings import ConvertCommand


@command("convert")
def main(settings: ConvertCommand) -> None:
    """Draw the masks that the annotations describe into a new folder, and say what is in them."""
    import shlex
    from pathlib import Path

    from segcv.study import convert

    folder = Path(settings.out)
    done = convert(settings.data, folder, workers=settings.workers, progress=progress_bar)
    print(f"Made {folder}: {len(done.images)} masks in masks/, with images.csv, classes.csv and conversion.json")
    print(done.classes.to_string(index=False))
    names = ",".join(done.classes.loc[done.classes["class_id"] >= 0, "class"])
    ignore = "" if settings.data.ignore == 255 else f" data.ignore={settings.data.ignore}"
    print(f"Next: python -m segcv.split data.table={shlex.quote(str(folder / 'images.csv'))} "
          f"{shlex.quote(f'data.classes=[{names}]')}{ignore}")


if __name__ == "__main__":
    main()

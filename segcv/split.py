"""python -m segcv.split: images -> groups -> folds, written as a folder to look at before paying for training."""

from __future__ import annotations

from collections.abc import Sequence

from segcv.config import command, progress_bar, typed
from segcv.settings import SplitCommand


@command("split")
def main(settings: SplitCommand) -> None:
    """Make the split that the settings describe, or find it made, and show its balance."""
    from pathlib import Path

    import pandas as pd

    from segcv.splits import SPLITTERS
    from segcv.study import GROUND, GROUPINGS, SENSITIVITY, evidence_kinds, open_study

    study = open_study(settings.data, settings.group, settings.split, splits=Path(settings.splits),
                       cache=Path(settings.cache), workers=settings.workers, progress=progress_bar)
    split = study.split
    print(f"{'Made' if study.made else 'Found'} {split.folder}")
    print(f"{len(split.images)} images in {split.images['group_id'].nunique()} groups; "
          f"{split.repeats} x {split.folds} folds; split_id {split.split_id}, data_id {split.data_id}"
          f"{'; LEAKS: groups are torn' if split.leaking else ''}"
          f"{'; for KNOWN groups: trained on their past' if split.known_groups else ''}")
    kinds = evidence_kinds(split.images)
    print("Groups come from: " + ", ".join(f"{kind} ({count} images)" for kind, count in kinds.items()))
    if (split.folder / GROUND).is_file():
        ground = pd.read_csv(split.folder / GROUND)
        print(f"Where images lie is told by {ground['told_by'].iloc[0]}: {int((ground['overlaps'] > 0).sum())} of "
              f"{len(ground)} images overlap another one")
    for name, title in ((GROUPINGS, "What could be the groups, by how much of the labels it explains:"),
                        (SENSITIVITY, "Near-duplicates at other thresholds (bits):")):
        if (split.folder / name).is_file():
            print(title)
            print(pd.read_csv(split.folder / name).to_string(index=False, float_format=lambda value: f"{value:.3f}"))
    print(balance_text(split.manifest["balance"], split.class_names))
    for row in split.manifest["left_out"]:
        print(f"Left out of training: {row['reason']}: {100 * row['share']:.1f} % of what could train "
              f"({row['images']} images in one fold or more)")
    if (splitter := SPLITTERS.get(split.settings["split"]["name"])) is not None and splitter.needs_masks:
        print("The folds were balanced on the labels of all images, those held out too: on how many pixels each class "
              "has, never on pixels of images or on scores.")
    if not study.made:
        for note in split.notes:
            print(f"note: {note}")
    print(f"Look at {split.folder / 'groups.html'} and fold_0_val.csv, then: "
          f"python -m segcv.train fold=0 {typed()}".rstrip())


def balance_text(rows: list[dict[str, object]], class_names: Sequence[str]) -> str:
    """The balance rows as a table for the terminal; the shares are those of the labelled pixels."""
    import pandas as pd

    table = pd.DataFrame(rows).rename(columns={f"share_{c}": name for c, name in enumerate(class_names)})
    return table.to_string(index=False, float_format=lambda share: f"{share:.3f}")


if __name__ == "__main__":
    main()

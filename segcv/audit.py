"""python -m segcv.audit: what leaks from training into the score, how sure that is, and what to type.

Exit code 0: no certain leak; 1: a certain leak; 2: could not run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from segcv.config import Verdict, command, progress_bar
from segcv.errors import ConfigError
from segcv.settings import AuditCommand

if TYPE_CHECKING:
    from segcv.leakage import Facts, Folds
    from segcv.splits import Split
    from segcv.study import Data

LEAK, REFUSED = 1, 2


@command("audit", refused=REFUSED)
def main(settings: AuditCommand) -> None:
    """Look, say what was found on one page, write it with its details, and end with the verdict as exit code."""
    refuse_settings(settings)
    from segcv.leakage import audit, audit_markdown, audit_page, write_findings
    from segcv.tables import MASK_PROFILE, write_json, write_text

    facts, heading, summary = gathered(settings)
    done = audit(facts)
    out = Path(settings.out)
    write_findings(out, done.findings)
    write_text(out / "audit.md", audit_markdown(done, heading=heading))
    write_json(out / "summary.json", summary)
    if facts.masks is not None:
        MASK_PROFILE.write(facts.masks, out / "classes.csv")
    print(audit_page(done, heading=heading))
    print(f"Details: {out / 'audit.md'}, {out / 'findings.csv'}, {out / 'findings.json'}, {out / 'summary.json'}")
    if done.failed:
        raise Verdict(LEAK)


def refuse_settings(settings: AuditCommand) -> None:
    """Refuse what can be refused before anything is read."""
    ways = {"split": settings.split, "split_folder": settings.split_folder, "roles": settings.roles}
    given = [name for name, value in ways.items() if value is not None]
    if len(given) > 1:
        raise ConfigError(f"{' and '.join(given)} are given, and each names the folds; keep one.")
    if settings.fold_column is not None and given and given != ["roles"]:
        raise ConfigError(f"fold_column={settings.fold_column} and {given[0]} both name the folds; keep one.")


def gathered(settings: AuditCommand) -> tuple[Facts, list[str], dict[str, object]]:
    """The Facts, the lines that say what was looked at, and the summary of the data."""
    from segcv.leakage import Facts, facts_of, is_ledger, read_ledger

    ledger = None
    if settings.roles is not None and is_ledger(Path(settings.roles)):
        ledger = read_ledger(Path(settings.roles))
        if settings.data.table is None and settings.data.images is None:
            heading = (f"Audit of the ledger {settings.roles}: {ledger['group_id'].nunique()} units in "
                       f"{ledger['outer'].nunique()} outer folds")
            return Facts(ledger=ledger), [heading], {}
    data, split = opened(settings)
    folds = folds_of(settings, data, split) if ledger is None else None
    chosen = settings.split if settings.split is not None else None
    facts = facts_of(
        data.images, profile=data.profile.images, masks=data.profile.masks, looks=data.profile.looks, folds=folds,
        ledger=ledger, class_names=data.labels.names, group_column=settings.group.column,
        locked_groups=tuple(split.settings["split"]["locked_groups"]) if split is not None else
        tuple(chosen.locked_groups) if chosen is not None else (),
        max_distance=settings.group.near_duplicates)
    groups = data.images["group_id"]
    grouped = f"{groups[groups.ne('')].nunique()} groups" if groups.ne("").any() else "no groups given"
    sides = (f"{len(folds)} folds from {folds.origin}" if folds is not None else
             "no folds named: the data alone (name them: fold_column=, roles=, split=)")
    return facts, [f"Audit of {data.name}: {len(data.images)} images, {grouped}; {sides}."], summary_of(data)


def opened(settings: AuditCommand) -> tuple[Data, Split | None]:
    """The data, and the split whose folder is named; images of a split come with the groups it was cut by."""
    from dataclasses import replace

    from segcv.splits import check_split_fits, read_split
    from segcv.study import open_data, split_folder

    folder = None if settings.split_folder is None else Path(settings.split_folder)
    if settings.split is not None:
        folder = split_folder(settings.data, settings.group, settings.split, splits=Path(settings.splits))
    split = None if folder is None else read_split(folder)
    data = open_data(settings.data, settings.group, cache=Path(settings.cache), workers=settings.workers,
                     progress=progress_bar)
    if split is None:
        return data, None
    check_split_fits(split, data.images, profile=data.profile.images)
    groups = data.images[["image_id"]].merge(split.images[["image_id", "group_id", "group_evidence"]], on="image_id")
    return replace(data, images=data.images.assign(group_id=groups["group_id"],
                                                   group_evidence=groups["group_evidence"])), split


def folds_of(settings: AuditCommand, data: Data, split: Split | None) -> Folds | None:
    """The folds that are named, None when none are."""
    from segcv.leakage import folds_of_column, folds_of_roles, read_folds

    if split is not None:
        return folds_of_roles(split.roles, data.images["image_id"], each_once=bool(split.manifest["held_out_once"]),
                              known_groups=split.known_groups, origin=str(split.folder))
    if settings.roles is not None:
        return read_folds(Path(settings.roles), data.images, column=settings.fold_column)
    return folds_of_column(data.images, settings.fold_column) if settings.fold_column is not None else None


def summary_of(data: Data) -> dict[str, object]:
    """What the files hold, in numbers: sizes, labelled pixels and brightness per class."""
    import pandas as pd

    images, masks = data.profile.images, data.profile.masks
    labelled = masks[masks["class_id"] >= 0]
    weighted = labelled["brightness"].fillna(0.0) * labelled["pixels"]
    by_class = pd.DataFrame({"pixels": labelled["pixels"], "weighted": weighted}).groupby(labelled["class_id"]).sum()
    rows = [(str(c), int(pixels), float(total)) for c, pixels, total in by_class.itertuples()]
    sizes = images[["height", "width"]].drop_duplicates()
    return {
        "name": data.name, "data_id": data.data_id, "n_images": len(images), "class_names": list(data.labels.names),
        "pixels_per_class": {c: pixels for c, pixels, _ in rows},
        "ignored_pixels": int(masks.loc[masks["class_id"] < 0, "pixels"].sum()),
        "image_sizes": sizes.to_numpy().tolist(), "mask_sizes": sizes.to_numpy().tolist(),     # others are refused
        "mean_intensity_in_class": {c: total / pixels if pixels else None for c, pixels, total in rows},
    }


if __name__ == "__main__":
    main()

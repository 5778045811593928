"""python -m segcv.audit: what leaks from training into the score, how sure that is, and what to type.

Exit code 0: no certain leak; 1: a certain leak; 2: could not run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    from segcv.leakage import Facts, facts_of, read_ledger, read_ledgers, read_runs
    from segcv.study import declared_levels

    only_ledger = names_ledger(settings)
    ledger = read_ledger(Path(str(settings.roles))) if only_ledger else None
    if ledger is not None and not names_data(settings):
        return Facts(ledger=ledger), [f"Audit of the ledger {settings.roles}: {ledger['group_id'].nunique()} units in "
                                      f"{ledger['outer'].nunique()} outer folds."], {}
    runs = None if settings.runs is None else read_runs(Path(settings.runs))
    if runs is not None and ledger is None:
        ledger = read_ledgers(Path(str(settings.runs)))
    settings, split = with_split(settings)
    data = opened(settings, split)
    folds = None if only_ledger else folds_of(settings, data, split)
    cut = split.settings["split"] if split is not None else {}
    facts = facts_of(
        data.images, profile=data.profile.images, masks=data.profile.masks, looks=data.profile.looks, folds=folds,
        ledger=ledger, runs=runs, class_names=data.labels.names, group_column=settings.group.column,
        locked_groups=tuple(cut.get("locked_groups", ())), max_distance=settings.group.near_duplicates,
        georeferences=data.georeferences, turns=settings.group.turns, overlaps=settings.group.overlaps,
        declared_levels=declared_levels(settings.group))
    groups = data.images["group_id"]
    grouped = f"{groups[groups.ne('')].nunique()} groups" if groups.ne("").any() else "no groups given"
    sides = (f"{len(folds)} folds from {folds.origin}" if folds is not None else
             f"no folds named: the data alone (name them: {hint(data)})")
    trained = f"; {len(runs)} runs below {settings.runs}" if runs is not None else ""
    return facts, [f"Audit of {data.name}: {len(data.images)} images, {grouped}; {sides}{trained}."], (
        summary_of(data) | {"split_id": "" if split is None else split.split_id})


def hint(data: Data) -> str:
    """What to type to name the folds; columns that look like folds are named."""
    from segcv.leakage import fold_columns

    likely = [f"fold_column={column}" for column in fold_columns(data.images)]
    return " or ".join(likely) or "fold_column=, roles=, split=, split_folder="


def names_data(settings: AuditCommand) -> bool:
    """Do the settings name data, or are they left to the demo or to a split folder?"""
    return settings.data.table is not None or settings.data.images is not None


def names_ledger(settings: AuditCommand) -> bool:
    """Is `roles` a ledger, and not a table of folds?"""
    from segcv.leakage import is_ledger

    return settings.roles is not None and settings.fold_column is None and is_ledger(Path(settings.roles))


def with_split(settings: AuditCommand) -> tuple[AuditCommand, Split | None]:
    """The split whose folder is named, or that all runs share; and the settings, with its data where none are named."""
    from dataclasses import replace

    from omegaconf import OmegaConf

    from segcv.leakage import split_folders
    from segcv.settings import DataSettings, GroupSettings
    from segcv.splits import read_split
    from segcv.study import split_folder

    folder = None if settings.split_folder is None else Path(settings.split_folder)
    if settings.split is not None:
        folder = split_folder(settings.data, settings.group, settings.split, splits=Path(settings.splits))
    elif folder is None and settings.runs is not None and settings.roles is None and settings.fold_column is None:
        trained = [Path(name) for name in split_folders(Path(settings.runs))]
        folder = trained[0] if len(trained) == 1 and trained[0].is_dir() else None
        if trained and folder is None and not names_data(settings):
            raise ConfigError(which_split(settings, trained))
    if folder is None:
        return settings, None
    split = read_split(folder)
    if not names_data(settings) and {"data", "group"} <= set(split.settings):
        known: list[Any] = [OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(kind), split.settings[name]))
                            for name, kind in (("data", DataSettings), ("group", GroupSettings))]
        settings = replace(settings, data=known[0], group=known[1])
    return settings, split


def which_split(settings: AuditCommand, trained: list[Path]) -> str:
    """Why the runs do not say which data are meant, and what to type."""
    there = [folder for folder in trained if folder.is_dir()]
    if not there:
        return (f"runs={settings.runs}: its split folder is not there any more: {trained[0]}. Bring it back, or name "
                "the data: data.table=FILE")
    listed = "".join(f"\n  split_folder={folder}" for folder in there)
    return (f"{settings.runs} holds runs of {len(trained)} splits, and an audit looks at one. Type one behind "
            f"runs={settings.runs}:{listed}")


def opened(settings: AuditCommand, split: Split | None) -> Data:
    """The data, every file read; images of a split come with the groups it was cut by."""
    from dataclasses import replace

    from segcv.splits import check_split_fits
    from segcv.study import open_data

    data = open_data(settings.data, settings.group, cache=Path(settings.cache), workers=settings.workers,
                     progress=progress_bar)
    if split is None:
        return data
    check_split_fits(split, data.images, profile=data.profile.images)
    groups = data.images[["image_id"]].merge(split.images[["image_id", "group_id", "group_evidence"]], on="image_id")
    return replace(data, images=data.images.assign(group_id=groups["group_id"],
                                                   group_evidence=groups["group_evidence"]))


def folds_of(settings: AuditCommand, data: Data, split: Split | None) -> Folds | None:
    """The folds that are named, None when none are."""
    from segcv.leakage import folds_of_column, folds_of_roles, read_folds, refuse_two_folds

    if settings.roles is not None:
        return read_folds(Path(settings.roles), data.images, column=settings.fold_column)
    if settings.fold_column is not None:
        if settings.data.table is not None:
            refuse_two_folds(Path(settings.data.table), settings.fold_column)
        return folds_of_column(data.images, settings.fold_column)
    if split is None:
        return None
    return folds_of_roles(split.roles, data.images["image_id"], each_once=bool(split.manifest["held_out_once"]),
                          known_groups=split.known_groups, origin=str(split.folder))


def summary_of(data: Data) -> dict[str, object]:
    """What the files hold, in numbers: sizes, labelled pixels and brightness per class."""
    import pandas as pd

    images, masks = data.profile.images, data.profile.masks
    labelled = masks[masks["class_id"] >= 0]
    weighted = labelled["brightness"].fillna(0.0) * labelled["pixels"]
    by_class = pd.DataFrame({"pixels": labelled["pixels"], "weighted": weighted}).groupby(labelled["class_id"]).sum()
    rows = [(str(c), int(pixels), float(total)) for c, pixels, total in by_class.itertuples()]
    sizes = images[["height", "width"]].drop_duplicates()
    with_labels = set(labelled.loc[labelled["pixels"] > 0, "image_id"])
    return {
        "name": data.name, "data_id": data.data_id, "n_images": len(images),
        "n_groups": int(data.images.loc[data.images["group_id"].ne(""), "group_id"].nunique()),
        "n_blank_images": int(data.profile.looks["flat"].sum()), "bands": sorted(set(images["bands"].tolist())),
        "dtypes": sorted(set(images["dtype"])), "class_names": list(data.labels.names),
        "pixels_per_class": {c: pixels for c, pixels, _ in rows},
        "n_images_without_labelled_pixels": int((~images["image_id"].isin(with_labels)).sum()),
        "ignored_pixels": int(masks.loc[masks["class_id"] < 0, "pixels"].sum()),
        "image_sizes": sizes.to_numpy().tolist(), "mask_sizes": sizes.to_numpy().tolist(),     # others are refused
        "mean_intensity_in_class": {c: total / pixels if pixels else None for c, pixels, total in rows},
    }


if __name__ == "__main__":
    main()

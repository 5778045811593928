"""Every registered section, on whole and poor evidence: intervals or reasons, names escaped, one golden page."""

from __future__ import annotations

import csv
import json
import warnings
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from tiny_scores import CLASSES, tiny_scores, tiny_tables

from segcv.errors import SegcvWarning
from segcv.reporting import (
    RESULT_SECTIONS,
    SECTIONS,
    Cell,
    Evidence,
    Section,
    Table,
    escaped,
    terminal_rows,
    write_report,
)
from segcv.reporting.sentences import in_language
from segcv.statistics import read_results, summarise, summarise_results
from segcv.tables import FINDINGS

GOLDEN = Path(__file__).parent / "golden" / "cv_report.md"
HOSTILE = ["<script>alert(1)</script>", "a|b", "**bold**", "`code`", "[x](http://y)", "\u202egnp.exe", "x" * 300, " ",
           "# h\n| x |", "&lt;"]


def evidence(*, seeds: tuple[int, ...] = (0, 1), names: list[str] | None = None, only_fold: int | None = None,
             classes: tuple[str, ...] = CLASSES, poor: bool = False) -> Evidence:
    scores, runs = tiny_scores(seeds=seeds, names=names)
    if only_fold is not None:
        runs = runs[(runs["fold"] == only_fold) & (runs["seed"] == 0)]
        scores = scores[scores["run_id"].isin(runs["run_id"])]
    images, masks, roles = tiny_tables(scores, runs)
    given = {"images": images, "masks": masks, "roles": roles, "train_scores": scores, "leaking": (scores, runs)}
    if poor or only_fold is not None:
        given = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SegcvWarning)
        summary = summarise(scores, runs, folds=5, seeds=seeds, class_names=classes, **given)
    if poor:
        return Evidence(summary=summary)
    return Evidence(
        summary=summary, source="images.csv", images=images, split={"name": "group_kfold", "folds": 5, "seed": 0},
        model="unet_small", settings={"optim": {"lr": 0.001}}, software={"segcv": "0.1.0"},
        fingerprints={"data_id": "d1", "split_id": "p1", "config_id": "c1"},
        commands=("python -m segcv.train -m fold=0,1,2,3,4 seed=0,1", "python -m segcv.aggregate"))


@pytest.mark.parametrize("name", SECTIONS)
@pytest.mark.parametrize("poor", [False, True])
def test_every_section_has_a_title_and_every_number_an_interval_or_a_reason(name: str, poor: bool):
    section = SECTIONS[name](evidence(poor=poor))

    assert isinstance(section, Section)
    assert section.title
    assert section.blocks
    for table in section.tables:
        for row in table.rows:
            for cell in row:
                bare = cell.format in ("score", "percent") and not cell.has_interval
                assert not bare or cell.why or table.why, (name, table.name, cell)


def test_a_bare_number_cannot_be_put_into_a_table():
    with pytest.raises(ValueError, match="no interval and no reason"):
        Table("t", ("score",), ((Cell(.5, "score"),),))


def test_the_page_is_the_golden_one(tmp_path: Path):
    """Read by people when it changes; rewrite it with the page of this test's folder."""
    path = write_report(tmp_path, evidence())

    assert path.read_text(encoding="utf-8") == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize(("severity", "marked"), [("fail", True), ("warn", False)])
def test_what_the_audit_found_is_in_the_report_and_certain_leaks_mark_it(severity: str, marked: bool):
    row = {"check": "groups_whole", "subject": "group_id", "severity": severity, "what": "g0 is on both sides",
           "why_it_matters": "it flatters", "remedy": "Cut whole groups", "evidence": "", "held_out_touched": 2,
           "held_out": 8, "share": 0.25, "examples": ""}
    found = replace(evidence(), findings=FINDINGS.check(pd.DataFrame([row]), where="test"))

    listed = [item for block in SECTIONS["audit"](found).blocks for item in getattr(block, "items", ())]
    assert listed == ["groups_whole: g0 is on both sides. Cut whole groups"]
    strong = [block.text for block in SECTIONS["answer"](found).blocks if getattr(block, "strong", False)]
    assert any("1 certain leaks" in text for text in strong) == marked
    nothing = replace(found, findings=FINDINGS.empty())
    assert "found nothing" in SECTIONS["audit"](nothing).blocks[0].text


@pytest.mark.parametrize("name", ["variance", "features", "advice"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_sections_of_another_policy_than_the_headlines_name_both_and_their_values(name: str, language: str):
    """The second value is put into the averages by hand."""
    found = evidence()
    assert found.summary is not None
    averages = found.summary.averages.copy()
    averages.loc[averages["average"] == "equal_group", "truth"] = 0.408
    told = replace(found, summary=replace(found.summary, averages=averages))
    same = replace(found, summary=replace(found.summary, averages=averages, policy="truth"))

    def words(of: Evidence) -> str:
        with in_language(language):
            return "\n".join(getattr(block, "text", "") for block in SECTIONS[name](of).blocks)

    assert all(word in words(told) for word in ("0.408", f"{found.summary.headline.value:.3f}", "truth", "union"))
    assert "0.408" not in words(same)


def test_the_spread_over_folds_is_named_after_the_score_it_is_of():
    """The fold table by pandas: seeds averaged, then mean and SD (n-1) over the folds."""
    found = evidence()
    assert found.summary is not None
    folds = found.summary.fold_table.groupby("fold")["miou_pooled"].mean()
    (row,) = [row for row in terminal_rows(found) if row[0].startswith("SD over")]

    assert row == ("SD over 5 folds of the pooled mIoU (n-1)", f"{folds.std():.3f}",
                   f"around its mean {folds.mean():.3f}")


def test_sections_come_in_reading_order():
    assert list(SECTIONS)[:4] == ["answer", "data", "split", "folds"]
    assert list(SECTIONS)[-3:] == ["limits", "missing", "reproduce"]
    assert set(RESULT_SECTIONS) <= set(SECTIONS)


def test_hostile_names_are_shown_and_not_obeyed(tmp_path: Path):
    text = write_report(tmp_path, evidence(names=HOSTILE, classes=("<b>", "a|b", "*"))).read_text(encoding="utf-8")

    assert "<script" not in text
    assert "<b>" not in text
    assert "x" * 100 not in text
    assert "\u202e" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ") and "script" in line]
    widths = {row.count("|") - row.count("\\|") for row in rows}
    assert len(widths) <= 4            # as many as there are tables with group names: no row is broken
    with (tmp_path / "tables" / "groups.csv").open(encoding="utf-8", newline="") as file:
        assert set(HOSTILE) <= {row[0] for row in csv.reader(file)}


@pytest.mark.parametrize(("name", "shown"), [
    ("a|b", "a\\|b"), ("<i>", "&lt;i&gt;"), ("*x*", "\\*x\\*"), ("road_1", "road_1"), ("_x_", "\\_x\\_"),
    ("# x", "\\# x"),
])
def test_escaping_shows_the_characters_themselves(name: str, shown: str):
    assert escaped(name) == shown


def test_undefined_is_na_and_null_and_never_zero(tmp_path: Path):
    folder = tmp_path / "report"
    text = write_report(folder, evidence(seeds=(0,))).read_text(encoding="utf-8")
    data = json.loads((folder / "summary.json").read_text(encoding="utf-8"))

    assert "n/a" in text
    assert "nan" not in text.lower().replace("financ", "")
    assert data["folds"]["sd_over_seeds"] is None


def test_a_lone_fold_is_reported_with_the_command_for_the_rest(tmp_path: Path):
    text = write_report(tmp_path, evidence(seeds=(0,), only_fold=0)).read_text(encoding="utf-8")

    assert "**NOT COMPLETE: 4 of 5 runs are missing" in text
    assert "python -m segcv.train -m fold=1,2,3,4" in text


def test_a_coarser_id_that_is_torn_is_among_the_cautions_of_the_first_screen(tmp_path: Path):
    text = write_report(tmp_path, replace(evidence(), torn_levels=("site has its twin in training.",))).read_text()

    assert "- site has its twin in training." in text[text.index("Read with care"):].split("\n## ")[0]


def test_a_leaking_split_marks_the_report_in_bold_before_any_number(tmp_path: Path):
    text = write_report(tmp_path, replace(evidence(), leaking=True)).read_text(encoding="utf-8")

    assert text.index("**LEAKING SPLIT") < text.index("expect mIoU")


def test_known_groups_mark_the_report_and_promise_nothing_about_new_ones(tmp_path: Path):
    page = write_report(tmp_path, replace(evidence(), known_groups=True)).read_text(encoding="utf-8")

    assert page.index("**KNOWN GROUPS") < page.index("On later images of the known groups expect")
    assert "On a new group" not in page


def test_the_same_evidence_gives_the_same_bytes_and_old_tables_go(tmp_path: Path):
    one = write_report(tmp_path / "one", evidence()).read_bytes()
    (tmp_path / "two" / "tables").mkdir(parents=True)
    (tmp_path / "two" / "tables" / "old.csv").write_text("x")

    two = write_report(tmp_path / "two", evidence()).read_bytes()

    assert one == two
    names = [sorted(path.name for path in (tmp_path / each / "tables").iterdir()) for each in ("one", "two")]
    assert names[0] == names[1]
    assert all((tmp_path / "one" / "tables" / name).read_bytes() == (tmp_path / "two" / "tables" / name).read_bytes()
               for name in names[0])


def test_a_results_table_gets_a_report_of_its_own(tmp_path: Path):
    rows = [f"{fold},0,abc,unet,{miou}" for fold, miou in enumerate((.6, .65, .7))]
    (tmp_path / "results.csv").write_text("\n".join(["fold,seed,split_id,model,miou", *rows]))
    table, unit = read_results(tmp_path / "results.csv")
    with pytest.warns(SegcvWarning, match="single seed|3 folds"):
        results = summarise_results(table, folds=3, unit=unit)

    text = write_report(tmp_path, Evidence(results=results, unit=unit)).read_text(encoding="utf-8")
    data = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))

    assert "mean over 3 folds miou 0.650" in text
    assert data["folds"]["mean"] == pytest.approx(.65)
    assert data["folds"]["sd_over_seeds"] is None

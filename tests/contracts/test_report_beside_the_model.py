"""What stands beside the model: images left out for their labels, earlier models, a second reader, group features."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from test_report_sections import evidence
from tiny_scores import CLASSES, tiny_scores, tiny_tables

from segcv.errors import RunError, SegcvWarning, TableError
from segcv.reporting import SECOND_READER, SECTIONS, Evidence, Facts, Figure, Headline, terminal_rows, write_report
from segcv.runs import FINISHED, RunKey, RunRecord
from segcv.statistics import Summary, group_features, summarise
from segcv.sweeps import read_excluded, rung_of
from segcv.tables import SCORES


def summary_with(rungs: dict[str, tuple[pd.DataFrame, pd.DataFrame]]) -> Summary:
    scores, runs = tiny_scores(seeds=(0,))
    images, masks, roles = tiny_tables(scores, runs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SegcvWarning)
        return summarise(scores, runs, folds=5, class_names=CLASSES, images=images, masks=masks, roles=roles,
                         rungs=rungs)


def perfect(scores: pd.DataFrame) -> pd.DataFrame:
    """The same images as a reader scores who agrees with every pixel."""
    return scores.assign(tp=scores["tp"] + scores["fn"], fp=0, fn=0)


def test_a_second_reader_is_the_last_rung_and_on_the_first_screen():
    """By hand: a reader who agrees everywhere scores 1, so the model minus the reader is the model's score minus 1."""
    scores, runs = tiny_scores(seeds=(0,))
    found = Evidence(summary=summary_with({SECOND_READER: (perfect(scores), runs), "old rule": (scores, runs)}))

    ladder = next(table for table in SECTIONS["trivial"](found).tables if table.name == "ladder")
    assert [row[0].value for row in ladder.rows] == ["trivial predictor", "old rule", "this model", SECOND_READER]
    assert ladder.rows[-1][1].value == 1.0
    assert ladder.rows[-1][2].value == pytest.approx(found.summary.headline.value - 1)
    facts = next(block for block in SECTIONS["answer"](found).blocks if isinstance(block, Facts))
    assert any("A second reader reaches 1.000" in text for _, text in facts.items)


def test_without_a_second_reader_the_report_says_how_to_add_one():
    told = [block.text for block in SECTIONS["trivial"](evidence()).blocks if hasattr(block, "text")]

    assert any("report.second_reader=reader" in text for text in told)


def test_images_left_out_mark_the_report_with_both_numbers(tmp_path: Path):
    left_out = pd.DataFrame({"image_id": ["g09/0"], "reason": ["masks swapped"]})
    found = evidence()
    both = replace(found, excluded=left_out, with_excluded=found.summary.bounded)

    text = write_report(tmp_path, both).read_text(encoding="utf-8")

    mark = next(line for line in text.splitlines() if line.startswith("**IMAGES LEFT OUT: 1 scored images"))
    assert f"Without them {found.summary.headline.value:.3f}" in mark
    assert f"with them {found.summary.bounded.value:.3f}" in mark
    assert "| g09/0 | masks swapped |" in text
    data = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert data["excluded"]["images"] == [{"image_id": "g09/0", "reason": "masks swapped"}]
    assert data["excluded"]["headline_with_them"]["value"] == found.summary.bounded.value


def test_the_number_comes_first_with_its_interval():
    blocks = SECTIONS["answer"](evidence()).blocks

    head = next(block for block in blocks if isinstance(block, Headline))
    whole = evidence().summary.headline
    assert (head.label, head.value) == ("mIoU", f"{whole.value:.3f}")
    assert f"{whole.low:.3f} to {whole.high:.3f}" in head.sure


def test_group_scores_are_drawn_against_the_features_that_go_with_them_most():
    found = evidence()
    features = group_features(found.images.assign(height=range(len(found.images))), shares=found.summary.shares)
    with_them = replace(found, features=features)

    figures = [block for block in SECTIONS["features"](with_them).blocks if isinstance(block, Figure)]

    best = found.summary.sources.features.table["feature"].tolist()[:3]
    assert [name for name in figures[0].data.columns if name not in ("group_id", "score")] == best
    assert len(figures[0].data) == found.summary.profile.groups


@pytest.mark.parametrize(("lines", "said"), [
    (["image_id", "a"], "no column reason"),
    (["image,reason", "a,bad"], "no column image_id"),
    (["image_id,reason", "a,", "b,bad"], "row 2: a has no reason"),
    (["image_id,reason", "a,bad", "a,worse"], "names a twice"),
    (["image_id,reason", "a,bad", "z,bad"], "1 images that these runs did not score, such as z"),
])
def test_a_list_of_images_to_leave_out_is_refused_by_row(tmp_path: Path, lines: list[str], said: str):
    path = tmp_path / "exclude.csv"
    path.write_text("\n".join(lines))

    with pytest.raises(TableError, match=said):
        read_excluded(path, {"a", "b", "007"})


def test_ids_of_images_to_leave_out_are_text(tmp_path: Path):
    path = tmp_path / "exclude.csv"
    path.write_text("image_id,reason,seen by\n007,bad,me\n")

    assert read_excluded(path, {"a", "007"}).to_dict("records") == [{"image_id": "007", "reason": "bad"}]


def test_the_terminal_shows_the_numbers_and_obeys_no_name():
    """A name that would clear the screen is shown, the number of the page stands in the first row."""
    found = evidence(names=["\x1b[2J", *[f"g{number}" for number in range(9)]])

    rows = terminal_rows(found)

    whole = found.summary.headline
    assert rows[0] == ("mIoU to expect on new groups", f"{whole.value:.3f}", f"{whole.low:.3f} .. {whole.high:.3f}")
    assert "\x1b" not in "".join(word for row in rows for word in row)
    assert any(what.startswith("hardest group") and sure == "one observation" for what, _, sure in rows)


def test_the_table_for_a_paper_is_latex_and_csv(tmp_path: Path):
    """The last row of both is the primary number, with its interval."""
    found = evidence()
    write_report(tmp_path, found)

    rows = pd.read_csv(tmp_path / "tables/paper.csv")
    assert rows["class"].tolist() == [*CLASSES, "mIoU (equal_group)"]
    last = rows.iloc[-1]
    whole = found.summary.headline
    assert (last["value"], last["value low"], last["value high"]) == pytest.approx((whole.value, whole.low, whole.high))
    assert rf"mIoU (equal\_group) & {whole.value:.3f} & {whole.low:.3f} to {whole.high:.3f} \\" in (
        tmp_path / "tables/paper.tex").read_text(encoding="utf-8")


def write_run(runs: Path, candidate: str, scores: pd.DataFrame) -> str:
    key = RunKey(candidate, "c", 0, 0, 0)
    folder = runs / key.run_id
    SCORES.write(scores.assign(run_id=key.run_id), folder / "scores.parquet")
    RunRecord(
        run_id=key.run_id, candidate=candidate, config_id="c", recipe_id="r", data_id="d", split_id="p",
        split_name="s", split_folder=str(runs / "none"), leaking=False, repeat=0, fold=0, seed=0, status=FINISHED,
        seconds=0.0, device="cpu", threads=1, code_version="0", model="", train_images=0,
        held_out_images=scores["image_id"].nunique(), majority_class=0, unlabelled_train_images=0, best_epoch=0,
        environment={"versions": {}}).write(folder)
    return str(folder)


def one_run() -> pd.DataFrame:
    scores, _ = tiny_scores(seeds=(0,))
    return scores[scores["run_id"].eq("r0-f0-s0")].reset_index(drop=True)


def test_a_run_folder_stands_beside_the_model_on_the_same_images(tmp_path: Path):
    """The reader saw more images and knows no groups: what counts are the model's images in the model's groups."""
    scored = one_run()
    kept = scored[scored["image_id"].ne(scored["image_id"].iloc[0])]
    folder = write_run(tmp_path, "reader", perfect(scored).assign(group_id="?"))

    table, runs = rung_of(tmp_path, folder, kept, setting="report.second_reader")

    assert set(table["image_id"]) == set(kept["image_id"])
    assert table.drop_duplicates("image_id").set_index("image_id")["group_id"].to_dict() == (
        kept.drop_duplicates("image_id").set_index("image_id")["group_id"].to_dict())
    assert runs["candidate"].tolist() == ["reader"]


def test_who_did_not_score_the_same_images_is_refused(tmp_path: Path):
    scored = one_run()
    first = scored["image_id"].iloc[0]
    folder = write_run(tmp_path, "rule", scored[scored["image_id"].ne(first)])

    with pytest.raises(RunError, match=f"did not score 1 of the .* such as {first}"):
        rung_of(tmp_path, folder, scored, setting="report.baselines")
    with pytest.raises(RunError, match=r"report\.baselines=nobody is neither a candidate .*\(rule\)"):
        rung_of(tmp_path, "nobody", scored, setting="report.baselines")
    with pytest.raises(RunError, match="on 3 classes, these runs on 2"):
        rung_of(tmp_path, write_run(tmp_path, "all", scored), scored[scored["class_id"].lt(2)],
                setting="report.baselines")

"""Tables of fold scores: the numbers people compute by hand, and those they get wrong."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from segcv.errors import RunError, SegcvWarning, TableError
from segcv.statistics import (
    check_complete,
    check_one_sweep,
    compare_all_results,
    compare_results,
    missing_cells,
    own_seeds,
    read_results,
    rest_commands,
    summarise_results,
)


def results(scores: list[float], *, candidate: str = "unet", seed: int = 0) -> pd.DataFrame:
    return pd.DataFrame({"candidate": candidate, "fold": range(len(scores)), "seed": seed, "split_id": "abc",
                         "score": scores})


def test_sd_divides_by_n_minus_one_and_the_standard_error_by_root_n():
    """By hand: squares of .1 0 .05 .1 .05 sum to .025; sqrt(.025/4) = .079057, over sqrt 5 = .035355."""
    with pytest.warns(SegcvWarning, match="a single seed"):
        (said,) = summarise_results(results([.60, .70, .65, .80, .75]), folds=5, seeds=[0])

    assert said.statistics.mean == pytest.approx(.7)
    assert said.statistics.sd_over_folds == pytest.approx(.079057, abs=1e-6)
    assert said.statistics.standard_error == pytest.approx(.035355, abs=1e-6)
    assert (said.statistics.low, said.statistics.high) == (.60, .80)


def test_the_interval_over_folds_is_students_t():
    """t table, df 4, 97.5 %: 2.7764; .7 -+ 2.7764 x .035355 = .6018, .7982."""
    with pytest.warns(SegcvWarning):
        (said,) = summarise_results(results([.60, .70, .65, .80, .75]))

    assert (said.mean.low, said.mean.high) == pytest.approx((.6018, .7982), abs=1e-4)
    assert "88 %" in said.mean.note


def test_the_spread_over_seeds_of_a_single_seed_is_unknown_and_not_zero():
    with pytest.warns(SegcvWarning) as said:
        (found,) = summarise_results(results([.60, .65, .70]), folds=3, seeds=[0])

    assert math.isnan(found.statistics.sd_over_seeds)
    texts = [str(warning.message) for warning in said]
    assert "a single seed: spread over seeds unknown (n/a); run seed=0,1,2" in texts
    assert any("only 3 folds (n=3)" in text for text in texts)


def test_the_spread_over_seeds_is_that_of_the_column_averages():
    """Column averages .65 and .66 (by hand): SD = .01 / sqrt 2; fold averages .605 .655 .705: SD .05."""
    table = pd.concat([results([.60, .65, .70]), results([.61, .66, .71], seed=1)])

    with pytest.warns(SegcvWarning, match="3 folds"):
        (found,) = summarise_results(table)

    assert found.statistics.sd_over_seeds == pytest.approx(.01 / math.sqrt(2))
    assert found.statistics.sd_over_folds == pytest.approx(.05)


def test_a_missing_cell_is_named_with_the_command_for_it():
    table = pd.concat([results([.60, .62, .64, .66, .68]), results([.61, .63, .65, .67, .69], seed=1)])

    with pytest.raises(RunError, match=r"fold=2 seed=1 is missing.*python -m segcv.train fold=2 seed=1"):
        summarise_results(table[(table["fold"] != 2) | (table["seed"] != 1)], folds=5, seeds=[0, 1])


def test_the_published_cases_give_their_values(shared: Path):
    """Values from the case files, each with its source thread."""
    cases = shared / "cases"
    table, unit = read_results(cases / "R03" / "results.csv")

    found = compare_results(table, "unet", "fpn")

    assert unit == "miou"
    assert found.mean_difference.value == pytest.approx(.012)
    assert found.t_plain == pytest.approx(4.810702, abs=1e-6)
    assert found.t_corrected == pytest.approx(3.310952, abs=1e-6)
    assert found.degrees_of_freedom == 9
    with pytest.raises(RunError, match="fold=2 seed=1 is missing"):
        summarise_results(read_results(cases / "H01" / "results.csv")[0], folds=5, seeds=[0, 1])


def test_the_corrected_t_counts_the_folds_that_share_training_images():
    """Differences .1 .2 .3: mean .2, s2 .01; plain .2/sqrt(.01/3) = 3.4641, corrected .2/sqrt(.01(1/3+1/2))."""
    table = pd.concat([results([.5, .5, .5], candidate="a"), results([.4, .3, .2], candidate="b")])

    found = compare_results(table, "a", "b")

    assert found.t_plain == pytest.approx(3.4641, abs=1e-4)
    assert found.t_corrected == pytest.approx(.2 / math.sqrt(.01 * 5 / 6))
    assert found.verdict.startswith("not separable")


def test_candidates_on_other_splits_or_cells_are_not_compared():
    other = results([.4, .3, .2], candidate="b")

    with pytest.raises(RunError, match=r"abc.*xyz"):
        compare_results(pd.concat([results([.5, .5, .5], candidate="a"), other.assign(split_id="xyz")]), "a", "b")
    with pytest.raises(RunError, match="fold=2 seed=0 is missing for 'a'"):
        compare_results(pd.concat([results([.5, .5], candidate="a"), other]), "a", "b")


def written(folder: Path, scores: list[object], *, name: str = "miou", extra: str = "") -> Path:
    path = folder / "results.csv"
    rows = "".join(f"{fold},0,abc,unet,{score}{extra and ',7'}\n" for fold, score in enumerate(scores))
    path.write_text(f"fold,seed,split_id,model,{name}{extra and ','}{extra}\n{rows}", encoding="utf-8")
    return path


@pytest.mark.parametrize("undefined", ["", "nan", "NaN", "None", "n/a"])
def test_a_fold_without_a_score_is_missing_until_it_is_allowed(tmp_path: Path, undefined: str):
    """By hand: (.6 + .7 + .8) / 3 = .7, over three folds of four."""
    table, _ = read_results(written(tmp_path, [.6, .7, undefined, .8]))

    with pytest.raises(RunError, match=r"fold=2 seed=0 repeat=0 \(unet\) has no score .* other 3 cells"):
        summarise_results(table, folds=4)
    with pytest.warns(SegcvWarning):
        (said,) = summarise_results(table, folds=4, allow_missing=True)
    assert (said.statistics.mean, said.statistics.undefined) == (pytest.approx(.7), 1)


def test_one_cell_of_a_second_candidate_is_no_first_look(tmp_path: Path):
    path = written(tmp_path, [.6, .7, .8])
    path.write_text(path.read_text(encoding="utf-8") + "0,0,abc,fpn,0.5\n", encoding="utf-8")

    with pytest.raises(RunError, match="fpn: fold=1 seed=0, fold=2 seed=0 are missing: 1 of 3 runs"):
        summarise_results(read_results(path)[0], folds=3)


def test_a_cell_listed_twice_is_named(tmp_path: Path):
    path = written(tmp_path, [.6, .7])
    path.write_text(path.read_text(encoding="utf-8") + "1,0,abc,unet,0.9\n", encoding="utf-8")

    with pytest.raises(TableError, match="candidate=unet repeat=0 fold=1 seed=0 is listed 2 times"):
        read_results(path)


def test_scores_that_are_no_fractions_have_an_interval_that_is_not_cut(tmp_path: Path):
    """A hundred times 'the interval over folds is students t': 70 -+ 2.7764 x 3.5355 = 60.18, 79.82."""
    table, unit = read_results(written(tmp_path, [60, 70, 65, 80, 75], name="hd95"))
    with pytest.warns(SegcvWarning):
        (said,) = summarise_results(table, unit=unit)

    assert (said.mean.low, said.mean.high) == pytest.approx((60.18, 79.82), abs=.01)


def test_fractions_and_percentages_in_one_table_are_refused(tmp_path: Path):
    with pytest.raises(TableError, match=r"miou is a fraction in some rows \(row 1: 0\.6\) .* \(row 3: 65;"):
        read_results(written(tmp_path, [.6, .7, 65]))


def test_a_number_of_images_beside_the_score_is_no_second_score(tmp_path: Path):
    assert read_results(written(tmp_path, [.6, .7], extra="n_test"))[1] == "miou"
    with pytest.raises(TableError, match="which column is the score"):
        read_results(written(tmp_path, [.6, .7], extra="dice"))


def test_folds_that_all_differ_alike_are_not_tested():
    """.6 - .5 and .7 - .6 are equal but for rounding: the variance is that of rounding, and t would be about 1e15."""
    found = compare_results(pd.concat([results([.6, .7, .8], candidate="a"), results([.5, .6, .7], candidate="b")]),
                            "a", "b")

    assert math.isnan(found.t_plain) and math.isnan(found.p_corrected) and not found.mean_difference.has_interval
    assert found.verdict.startswith("all 3 folds differ alike")


def test_more_pairs_make_p_larger_by_holm():
    """Three pairs: the smallest p is taken three times, the next twice, and none falls below the one before it."""
    table = pd.concat([results([.50, .52, .55, .51, .54], candidate="a"),
                       results([.40, .43, .44, .42, .43], candidate="b"),
                       results([.38, .42, .45, .40, .45], candidate="c")])

    pairs = {(one.first, one.second): one for one in compare_all_results(table, ["a", "b", "c"])}

    alone = {pair: compare_results(table, *pair).p_corrected for pair in pairs}
    least, middle, most = sorted(alone, key=alone.get)
    assert pairs[least].p_holm == pytest.approx(3 * alone[least])
    assert pairs[middle].p_holm == pytest.approx(max(3 * alone[least], 2 * alone[middle]))
    assert pairs[most].p_holm == pytest.approx(max(2 * alone[middle], alone[most]))


def test_mixed_settings_of_one_candidate_are_refused_and_both_named():
    runs = pd.DataFrame({"candidate": "a", "fold": [0, 1], "seed": 0, "config_id": ["c1", "c2"]})

    with pytest.raises(RunError, match=r"c1.*fold=0.*c2.*fold=1"):
        check_one_sweep(runs)


def test_the_commands_for_the_rest_cover_the_missing_cells_and_nothing_else():
    runs = pd.DataFrame({"repeat": 0, "fold": [0, 1, 2, 0], "seed": [0, 0, 0, 1]})

    missing = missing_cells(runs, folds=4, seeds=(0, 1))

    assert missing.values.tolist() == [[0, 1, 1], [0, 2, 1], [0, 3, 0], [0, 3, 1]]
    assert rest_commands(missing) == ("python -m segcv.train fold=3", "python -m segcv.train -m fold=1,2,3 seed=1")


def test_one_run_alone_is_a_first_look_and_two_of_five_are_not():
    runs = pd.DataFrame({"fold": [0], "seed": [0]})

    assert rest_commands(check_complete(runs, folds=5)) == ("python -m segcv.train -m fold=1,2,3,4",)
    with pytest.raises(RunError, match="fold=2 seed=0, fold=3 seed=0, fold=4 seed=0 are missing"):
        check_complete(pd.DataFrame({"fold": [0, 1], "seed": [0, 0]}), folds=5)


def test_a_run_that_was_not_asked_for_is_refused():
    with pytest.raises(RunError, match="fold=5 seed=0 was run but not asked for"):
        check_complete(pd.DataFrame({"fold": range(6), "seed": 0}), folds=5)


def test_a_results_table_with_two_possible_scores_is_refused(tmp_path: Path):
    (tmp_path / "results.csv").write_text("fold,iou,dice\n0,.5,.6\n1,.4,.5\n")

    with pytest.raises(TableError, match="which column is the score"):
        read_results(tmp_path / "results.csv")
    assert read_results(tmp_path / "results.csv", score="dice")[0]["score"].tolist() == [.6, .5]


def test_repeats_may_have_a_seed_each():
    """By hand: repeats 0 and 1 of three with their own seeds, fold 1 of repeat 1 not run: (1, 1, 1), and repeat 2 with
    seed 2. As a full grid of 3 repeats x 2 seeds x 2 folds, 9 of 12 cells would be missing."""
    runs = pd.DataFrame({"repeat": [0, 0, 1], "fold": [0, 1, 0], "seed": [0, 0, 1]})

    missing = missing_cells(runs, folds=2, repeats=3, own=own_seeds(runs))

    assert own_seeds(runs) and list(missing.itertuples(index=False, name=None)) == [(1, 1, 1), (2, 0, 2), (2, 1, 2)]
    assert rest_commands(missing) == ("python -m segcv.train fold=1 seed=1 repeat=1",
                                      "python -m segcv.train -m fold=0,1 seed=2 repeat=2")
    assert len(missing_cells(runs, folds=2, repeats=3, seeds=(0, 1))) == 9
    assert not own_seeds(runs.assign(seed=0)) and not own_seeds(runs.assign(repeat=0))
    with pytest.raises(RunError, match="3 of 6 runs are there"):
        check_complete(runs, folds=2, repeats=3, own=True)

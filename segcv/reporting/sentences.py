"""The words of a report in one place; everything else in this room is free of language."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from segcv.errors import ConfigError
from segcv.reporting.sentences_pages import PAGES

SENTENCES: dict[str, str] = {
    "title": "Cross-validation report",
    "title_of": "Cross-validation report: {candidate}",
    "blank": "(blank)",
    # the answer
    "answer": "What to expect",
    "expect": "On a new group expect {unit} {value}: the mean over {groups} held-out groups, {weighting}, "
              "of {models}.",
    "expect_known": "On later images of the known groups expect {unit} {value}: the mean over {groups} groups, "
                    "{weighting}, of {models} trained on their past.",
    "unit_iou": "IoU is the overlap of prediction and mask divided by their union: 1 is perfect, 0 is none; mIoU is "
                "its "
                "mean over the classes of an image.",
    "unit_dice": "Dice is twice the overlap of prediction and mask divided by the sum of their areas: 1 is perfect, 0 "
                 "is none; here its mean over the classes of an image.",
    "one_group": "It can lie far from the mean: the {groups} held-out groups scored from {low} to {high}, the middle "
                 "one "
                 "{median}.",
    "spread_mostly": "Most of the spread over folds, {share}, comes from {part}.",
    "spread_largest": "The largest part of the spread over folds, {share}, seems to come from {part}.",
    "part_group": "differences between the groups rather than from the model",
    "part_model": "the networks: each training gives another one",
    "part_interaction": "networks that are good at some groups and not at others",
    "part_image": "differences between the images of a group",
    "part_residual": "networks that are good at some images of a group and not at others",
    "reader_said": "A second reader reaches {reader} against the same masks: the ceiling that people set. The model "
                   "minus the reader is {difference}.",
    "sure": "{low} to {high}: {level} % interval of the mean over groups like these",
    "q_sure": "How sure is that?",
    "q_groups": "And a single new group?",
    "q_random": "What would a random split have said?",
    "q_spread": "Groups or model?",
    "q_beside": "Is that much?",
    "q_unit": "What is {unit}?",
    "q_external": "And on the external cohort?",
    "q_next": "What to do next?",
    "next_step": "Why: {step} More under What to do next.",
    "next_finish": "Run what is missing; the commands are at the end of this page.",
    "mark_excluded": "IMAGES LEFT OUT: {images} scored images were left out of every number for their labels. Without "
                     "them {without}; with them {value}.",
    "one_model": "one trained model",
    "many_models": "the {runs} trained models",
    "few_groups": "There are few groups, or one is dominant: this is the bounded interval ({method}; {target}). The "
                  "usual one: {value} ({usual}).",
    "equal_group": "each group counting once",
    "equal_row": "each image counting once",
    "group_pooled": "each group scored from its summed pixels and counting once",
    "pooled": "from pixels summed over all of them",
    "bounded": "Of 100 intervals made this way about {level} hold the mean, were groups like these drawn again. One "
               "that leans on no shape of distribution: {value} ({method}; {target}).",
    "worst_group": "The hardest group is {group}: {value} over {images} images.",
    "above_trivial": "A predictor that always says the most common training class reaches {trivial}; the model minus "
                     "this predictor is {difference}.",
    "random_said": "A random split would have said {random}, that is {difference} more.",
    "random_lower": "A random split says {random}; the difference is {difference}: it does not flatter here.",
    "random_nothing": "A random split says {random}; the difference is {difference}: here grouping changed nothing to "
                      "speak of.",
    "random_open": "A random split says {random}; the difference is {difference}: whether grouping changed anything is "
                   "not settled by these groups.",
    "mark_leaking": "LEAKING SPLIT: images of one group are in training and in testing, so every score below is too "
                    "good for new groups.",
    "mark_known": "KNOWN GROUPS: the models were trained on earlier images of the groups they were tested on. The "
                  "scores are for known groups and say nothing about new ones.",
    "mark_unproven": "HELD-OUT NOT PROVEN: {runs} of the models were trained elsewhere, and nothing shows that they "
                     "have not seen the images they are scored on. Their training lists would: "
                     "python -m segcv.evaluate trained_on=FILE.",
    "mark_unproven_there": "HELD-OUT NOT PROVEN on the external cohort: nothing shows that {runs} of the models scored "
                           "there have not been trained on its images. Their training lists would: "
                           "python -m segcv.evaluate data.external=TABLE trained_on=FILE.",
    "mark_missing": "NOT COMPLETE: {missing} of {all} runs are missing; the numbers below are about what is there.",
    "mark_duplicates": "NEAR-DUPLICATES: {images} images were put into a group because they look like another image.",
    "cautions": "Read with care:",
    "results_expect": "{candidate}: mean over {folds} folds {unit} {value}.",
    "results_only": "The input is a table with one score per fold and seed: it supports statements about folds only, "
                    "not about groups, images or classes.",
    # data
    "data": "Data and groups",
    "input": "Input: {source}; data id {data_id}; {images} images in {groups} groups.",
    "formed": "How the group ids were formed (images by evidence):",
    "evidence_unknown": "How the group ids were formed was not recorded.",
    "sizes": "Groups hold {smallest} to {largest} images, {median} in the middle. The largest, {largest_group}, holds "
             "{share} of the images; by images the groups weigh like {effective} equal ones.",
    "icc": "Images of one group score alike to the degree {icc} (intraclass correlation; 0 not at all, 1 wholly): "
           "{verdict} grouping. The design effect is {effect}.",
    "alike": "Near-duplicates: {images} images are in their group because they look like another image.",
    "none_alike": "Near-duplicates: no group rests on images that look alike.",
    "excluded_table": "Images that were left out for their labels",
    "shares": "Share of the labelled pixels by group and class",
    "all_groups": "all groups",
    "why_shares": "shares of counted pixels are exact for these images",
    # split
    "split": "Split",
    "balance": "Balance of the folds",
    "no_balance": "No balance table was given.",
    # folds
    "folds": "Scores by fold",
    "by_fold": "Held-out scores of each run",
    "over_folds": "Over folds",
    "by_class": "Each class over all held-out images, pixels summed, for these models",
    "fold_interval": "Mean over folds ({score}): {value}, {method} ({note}).",
    "why_run": "one run is one network on one fold: it has no interval of its own",
    "why_over_folds": "the spread over folds mixes groups, models and images; intervals are in the other tables",
    "sd_note": "SD divides by n - 1; standard error = SD / sqrt(folds); each fold's value is its mean over seeds.",
    "sd_unknown": "n/a where a single seed or repeat was run: unknown, not zero.",
    # averages
    "averages": "The averages side by side",
    "averages_by_policy": "One set of pixel counts, many averages; columns are policies for classes that are absent",
    "averages_policy": "This report's policy is {policy}. The span is what the policy alone can change.",
    "span_over": "Over the averages called {prefix} and all policies the same counts give {low} to {high}.",
    "why_averages": "intervals are given for the four targets in the next table",
    "targets": "Estimates with intervals",
    # hard
    "hard": "Percentiles, worst groups, worst images",
    "percentiles": "Percentiles",
    "worst_groups": "Groups from the worst",
    "worst_images": "Images from the worst",
    "more_rows": "The first {shown} of {all}; the rest is in {file}.",
    "why_one_group": "one group is one observation; what new groups do is in the estimates",
    "why_one_image": "one image is one observation",
    # undefined
    "undefined": "Undefined, missed, false alarms",
    "undefined_cells": "Cells (run x image) by state; an absent class is undefined there and is left out, never 0 or 1",
    "undefined_images": "{images} images have no labelled pixel and no score; they are left out of the means.",
    "why_rates": "counts of these cells; the intervals of means are above",
    # probabilities and outlines
    "beside": "Probabilities and outlines",
    "no_beside": "The runs kept class ids only, and no boundary metrics were asked for.",
    "probabilities": "Probabilities of each run",
    "probabilities_read": "ECE is the mean gap between the largest probability and how often it is right (15 bins), "
                          "Brier the mean squared error summed over classes, both better when lower. AUROC has the "
                          "chance level 0.5; that of AP is the share of the class's pixels.",
    "outlines": "Outlines of each run, means over images",
    "outlines_read": "Distances are in units of the pixel spacing, and better when lower; NSD and boundary IoU are "
                     "shares. Where one side is missing a distance counts as the image's diagonal, a share as 0.",
    # baseline
    "trivial": "Baselines, and what people reach",
    "rung": "who",
    "rung_score": "score",
    "rung_gain": "this model minus it",
    "ladder_read": "A difference whose interval holds 0 is not shown by these groups. To add a rule or an earlier "
                   "model: python -m segcv.evaluate predictions=FOLDER name=NAME, then report.baselines=[NAME].",
    "no_reader": "No second reader was given, so what people reach on these images is not known. With a second "
                 "reader's masks: python -m segcv.evaluate predictions=FOLDER name=reader, then "
                 "report.second_reader=reader.",
    "trivial_folds": "Model beside the predictor that always says the most common class of the fold's training pixels",
    "no_trivial": "Not computed: it needs the mask profile and the roles of the split.",
    "trivial_difference": "Model minus trivial predictor, by group: {value}.",
    # train
    "train": "Training score beside held-out score",
    "train_table": "By run",
    "no_train": "No training scores were kept with these runs.",
    "train_gap": "The models score {gap} more on the images they were trained on, in the mean over runs ({score}).",
    # audit
    "audit": "Leaks",
    "no_audit": "Not looked for. What leaks from training into the score, how sure that is, and what to do:",
    "audit_not_run": "Leaks were not looked for: {command}",
    "audit_counts": "The audit found {fail} certain leaks, {warn} suspicions and {note} notes; see the section on "
                    "leaks.",
    "audit_clean": "The audit of these data and this split found nothing.",
    "audit_fail": "Certain leaks:",
    "audit_warn": "Suspicions:",
    "audit_note": "Good to know:",
    "mark_audit": "The audit found {leaks} certain leaks: this score is too good. See the section on leaks.",
    # leak
    "leak": "What a random split would have said",
    "leak_table": "The same recipe under both splits, groups counting once",
    "no_leak_elsewhere": "Not known: these models were trained elsewhere.",
    "no_leak": "Not run. To see what a split that ignores groups would have claimed:",
    # external
    "external": "External cohort",
    "without_folds": "Predictions without folds",
    "without_folds_is": "These predictions have no folds, and data.external did not name them an external cohort.",
    "no_external": "No external cohort was scored.",
    "external_is": "{networks} frozen network(s) on {images} images of {groups} groups that no fold was cut from. "
                   "{valid}",
    "external_said": "There the frozen model reaches {value}: a drop of {difference} from cross-validation. This is "
                     "about that model, not about the recipe.",
    "external_table": "Mean over these groups, each counting once",
    "external_drop": "From cross-validation to the cohort the score drops by {value}.",
    "external_drops": "Cross-validated minus external; the groups of the two are independent, their variances add",
    # missing
    "missing": "What is missing",
    "none_missing": "Nothing: all {runs} runs ({folds} folds, {repeats} repeats, seeds {seeds}) are there.",
    "missing_cells": "Missing runs",
    "run_rest": "To run the rest:",
    # reproduce
    "reproduce": "Model, settings, software, how to reproduce",
    "model": "Model: {model}.",
    "run_line": "{runs} runs of candidate {candidate}: folds {folds}, repeats {repeats}, seeds {seeds}.",
    "settings": "Settings",
    "software": "Software",
    "fingerprints": "Fingerprints",
    "notes": "Notes",
    "to_reproduce": "To reproduce:",
    # variance
    "variance": "Where the spread comes from",
    "no_variance": "Not known: the sweep lacks cells, or no image has a class.",
    "spread_policy": "The parts of the spread and the tests are of the {unit} under the absent-class policy truth, "
                     "whose cells are the same in every run ({truth} here, the mean over groups); the headline, "
                     "{headline}, is under {policy}.",
    "features_policy": "The tables of this section are of the {unit} under the absent-class policy truth, whose cells "
                       "are the same in every run ({truth} here, the mean over groups); the headline, {headline}, is "
                       "under {policy}.",
    "variance_observed": "The scores of the folds spread by {observed} (SD, n-1); the parts below make {expected} "
                         "expected.",
    "components_of": "Components of variance, {target}: {groups} groups, {columns} passes over all folds",
    "stability": "Are the same groups hard in every pass? Rank correlation {value}.",
    "features": "What goes with low scores",
    "no_features": "No features of the groups are known. Numbers in further columns of the images table are used.",
    "feature_ranks": "Group score against group features: rank correlation, permutation p, Holm-adjusted",
    "feature_regression": "All features at once: regression with errors that allow unequal spread (HC3)",
    "decay": "With each unit of distance from the training groups the score changes by {slope}, and its spread by "
             "{spread}.",
    "decay_strata": "Score by distance from the training groups",
    "advice": "What to do next",
    "advice_piece": "{action}: {how}.",
    "no_advice": "Nothing in these scores speaks for a change.",
    "diagnoses": "Patterns that were found:",
    "ladder": "From the lowest rung to the model; last a second reader, where there is one",
    # pictures
    "not_identifiable": "not identifiable with these runs",
    "axis_share": "share of the expected variance of fold scores (SD expected {expected}; dot: observed {observed})",
    "axis_group": "group",
    "axis_model": "model",
    "axis_interaction": "interaction",
    "axis_image": "image",
    "axis_residual": "residual",
    "axis_these_models": "these models",
    "axis_recipe": "the recipe",
    "axis_bounded": "bounded",
    "axis_mean_sd": "{score}: mean ± SD of folds (no interval)",
    "axis_all_parts": "all parts",
    "axis_fold": "fold",
    "axis_groups": "share of groups, smallest first",
    "axis_images": "share of images",
    "axis_number_of_groups": "groups",
    "axis_columns": "seeds or repeats",
    "axis_above": "share that scores at least as much",
    "axis_predicted": "predicted",
    "axis_truth": "truth",
    "figure_variance": "Expected variance of fold scores by source (bars with intervals) and the observed SD of folds",
    "figure_strip": "Score of every run: folds side by side, one dot per seed and repeat",
    "figure_groups": "Groups from the hardest to the easiest; bars span seeds and repeats, dots grow with "
                     "images, the line is the number to expect",
    "figure_ladder": "The number under each interval: which to read and which misleads",
    "figure_weight": "Share of images held by the largest groups (Lorenz curve)",
    "figure_detectable": "What more groups and seeds would show: half-width of the interval, and the smallest true "
                         "difference of two recipes like this one that shows 8 times in 10 (the effect varying by "
                         "{effect} over groups); dotted: with endless groups",
    "axis_half_width": "half-width of the interval",
    "axis_detectable": "smallest difference that shows",
    "figure_profile": "Share of images and of groups that score above each value",
    "figure_confusion": "Confusion of classes: share of each true class, with pixel counts",
    "figure_features": "Group score against the features that go with it most",
    "gallery": "Pictures",
    "gallery_elsewhere": "{pictures} images are shown in cv_report.html: image, truth, prediction, errors.",
    "gallery_read": "The three worst, the median and the best image of each fold and class, worst, median and best of "
                    "each group, and images whose truth looks wrong, at most 200. A score is the mean over runs; the "
                    "prediction shown is that of the first seed.",
    "gallery_seen": "of {all} shown",
    "legend_ignored": "ignored",
    "legend_wrong": "wrong",
    "panel_image": "image",
    "panel_truth": "truth",
    "panel_prediction": "prediction",
    "panel_errors": "errors",
    "panel_difference": "difference",
    "why_worst": "worst",
    "why_median": "median",
    "why_best": "best",
    "why_suspicious": "is the truth right?",
    "why_changed": "changed most",
    "why_worst_of": "worst of its {what}",
    "why_median_of": "median of its {what}",
    "why_best_of": "best of its {what}",
    "why_worst_at": "worst at {name}",
    "why_median_at": "median at {name}",
    "why_best_at": "best at {name}",
    "labels": "Is the truth right?",
    "no_suspects": "No image stands out: none of the lowest scores was given with confidence, and no mask has borders "
                   "or specks unlike the others.",
    "suspects_unknown": "Not looked for. Run aggregate with report.html=true where the masks are at hand.",
    "suspects": "Images to look at, the most suspicious first",
    "suspects_read": "{images} images look as if their mask could be wrong: the model is sure (mean largest "
                     "probability 0.9 or more) and scores among the lowest tenth; or the border is ragged (share of "
                     "its pixels that a 3 x 3 median takes away) or classes lie in tiny specks, far more than in the "
                     "other masks. A hard image can look the same: look before you judge.",
    "suspects_next": "Label the wrong ones again. To see the numbers without them, delete the right ones from "
                     "relabel.csv in the report's folder and type this; the report then shows both numbers:",
    "no_gallery": "No pictures were cut. Run aggregate with report.html=true where images and masks are at hand.",
    "confusion": "Confusion of classes",
    "no_confusion": "No confusion table was given.",
    "limits": "What this evaluation cannot say",
    "limit_time": "Images of another year or season, unless a time-ordered split was used.",
    "limit_sensor": "Other sensors, scanners or resolutions than those of these groups.",
    "limit_known": "How well known groups are served: each group was scored by models that had not seen it.",
    "limit_known_groups": "How well new groups are served: each was scored by models that had seen its past.",
    "limit_labels": "Whether the masks are right: a score is agreement with them.",
    "once": "cut once",
    "times": "cut {number} times",
    "methods": "A methods paragraph, to be adapted:",
    "methods_design": "Performance was estimated by {folds}-fold cross-validation over {groups} groups ({images} "
                      "images), {repeats}, training seeds {seeds}, folds cut by {split}; {design}.",
    "methods_groups": "no group is on both sides of a fold",
    "methods_known": "each group is tested on images later than those it is trained on",
    "methods_leaking": "images of one group are on both sides, so the scores are too good for new groups",
    "methods_target": "The primary target, declared before scores existed, is {target} {unit} under the absent-class "
                      "policy {policy}: {value} by {method}; without assumptions on the distribution {bounded} by "
                      "{bound}. The standard deviation over folds (n-1) of the {score} was {sd}, around its "
                      "mean {mean}.",
    "methods_recipe": "For the recipe, over trainings as well as groups: {value} by {method}.",
    "methods_excluded": "{images} images were left out for faulty labels (with them: {value}).",
    "methods_software": "Software: {software}; {ids}.",
    "no_interval": "No interval: {why}.",
    "contents": "Contents",
    "rows_more": "{shown} of {all} rows are shown; tables/{name}.csv holds all.",
    "filter_why": "shown because",
    "filter_fold": "fold",
    "filter_group": "group",
    "filter_class": "class",
    "filter_all": "all",
    "how_made": "Undefined numbers are shown as n/a. Intervals are {level} intervals unless they say otherwise.",
} | PAGES

COLUMNS: dict[str, str] = {
    "miou_pooled": "pooled mIoU", "mdice_pooled": "pooled mean Dice", "miou_image": "mIoU per image",
    "sd_over_folds": "SD (n-1)",
    "standard_error": "standard error", "low": "min", "high": "max", "sd_over_seeds": "SD over seeds (n-1)",
    "sd_over_repeats": "SD over repeats (n-1)", "group_id": "group", "image_id": "image", "sd_over_columns":
    "SD over seeds or repeats", "rank_correlation": "rank correlation", "p_value": "p", "p_holm": "p (Holm)",
    "score_first": "score of the first", "score_second": "score of the second",
    "per_sd": "change per SD",
    "share_of_spread": "share of the spread over folds",
    "sure": "model sure", "ragged": "ragged border", "specks": "tiny specks",
    "false_alarm": "false alarm", "miss_rate": "miss rate", "false_alarm_rate":
    "false-alarm rate", "held_out": "held out", "labelled_pixels": "labelled pixels",
}


LANGUAGES = ("en", "zh")
_language: ContextVar[str] = ContextVar("language", default="en")


@contextmanager
def in_language(code: str) -> Iterator[None]:
    """Within the block sentences are said in this language: en or zh.

    Raises:
        ConfigError: there are no sentences in it.
    """
    if code not in LANGUAGES:
        raise ConfigError(f"report.language={code} is not known; use one of {', '.join(LANGUAGES)}.")
    token = _language.set(code)
    try:
        yield
    finally:
        _language.reset(token)


def language_code() -> str:
    """The language sentences are said in now."""
    return _language.get()


def say(key: str, **values: object) -> str:
    """The sentence called `key` with its values put in, in the language of the block."""
    return _words()[0][key].format(**values)


def column(name: str) -> str:
    """What a table calls the column `name`."""
    for prefix, shown in (("iou ", "IoU "), ("dice ", "Dice ")):
        if name.startswith(prefix):
            return shown + name.removeprefix(prefix)
    return _words()[1].get(name, name)


def _words() -> tuple[dict[str, str], dict[str, str]]:
    if language_code() == "en":
        return SENTENCES, COLUMNS
    from segcv.reporting import sentences_zh
    return sentences_zh.SENTENCES, sentences_zh.COLUMNS

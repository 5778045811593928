"""The words of a report in one place; everything else in this room is free of language."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from segcv.errors import ConfigError

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
    "one_model": "one trained model",
    "many_models": "the {runs} trained models",
    "few_groups": "There are few groups, or one is dominant: this is the bounded interval ({method}; {target}). The "
                  "usual one: {value} ({usual}).",
    "equal_group": "each group counting once",
    "equal_row": "each image counting once",
    "group_pooled": "each group scored from its summed pixels and counting once",
    "pooled": "from pixels summed over all of them",
    "recipe": "For the recipe itself, trained again with other seeds: {value}.",
    "bounded": "Without leaning on any shape of distribution: {value} ({method}; {target}).",
    "worst_group": "The hardest group is {group}: {value} over {images} images.",
    "above_trivial": "A predictor that always says the most common training class reaches {trivial}; the model minus "
                     "this predictor is {difference}.",
    "random_said": "A random split would have said {random}, that is {difference} more.",
    "random_less": "A random split says {random}; the difference is {difference}: here grouping changed little.",
    "mark_leaking": "LEAKING SPLIT: images of one group are in training and in testing, so every score below is too "
                    "good for new groups.",
    "mark_known": "KNOWN GROUPS: the models were trained on earlier images of the groups they were tested on. The "
                  "scores are for known groups and say nothing about new ones.",
    "mark_unproven": "HELD-OUT NOT PROVEN: {runs} of the models were trained elsewhere, and nothing shows that they "
                     "have not seen the images they are scored on. Their training lists would: "
                     "python -m segcv.evaluate trained_on=FILE.",
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
    "fold_interval": "Mean over folds: {value}, {method} ({note}).",
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
    "trivial": "Trivial predictor",
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
    "no_external": "No external cohort was scored.",
    "external_is": "{networks} frozen network(s) on {images} images of {groups} groups that no fold was cut from. "
                   "{valid}",
    "external_table": "Mean over groups of the cohort, each group counting once",
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
    "ladder": "Baselines, from the lowest rung",
    # pictures
    "not_identifiable": "not identifiable with these runs",
    "axis_share": "share of the expected variance of fold scores (SD expected {expected}, observed {observed})",
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
    "figure_groups": "Groups from the hardest to the easiest; bars span seeds and repeats, dots grow with images",
    "figure_ladder": "The number under each interval: which to read and which misleads",
    "figure_weight": "Share of images held by the largest groups (Lorenz curve)",
    "figure_detectable": "Smallest true difference that shows 8 times in 10, by number of groups and of seeds",
    "figure_profile": "Share of images and of groups that score above each value",
    "figure_confusion": "Confusion of classes: share of each true class, with pixel counts",
    "figure_features": "Group score against the feature that goes with it most",
    "gallery": "Pictures",
    "gallery_elsewhere": "{pictures} images are shown in cv_report.html: image, truth, prediction, errors.",
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
    "methods_text": "Performance was estimated by {folds}-fold cross-validation over {groups} groups ({images} "
                    "images), {repeats} with seeds {seeds}, folds cut by {split} so that no group is trained on and "
                    "tested. The primary target, declared before scores existed, is {target} {unit} under the "
                    "absent-class policy {policy}: {value} by {method}. The standard deviation over folds (n-1) was "
                    "{sd}. Software: segcv {version}.",
    "no_interval": "No interval: {why}.",
    "contents": "Contents",
    "rows_more": "{shown} of {all} rows are shown; tables/{name}.csv holds all.",
    "filter_why": "shown because",
    "filter_fold": "fold",
    "filter_group": "group",
    "filter_class": "class",
    "filter_all": "all",
    # comparison
    "compare_title": "Comparison",
    "compare_weighted": "When images count by their weights; not adjusted, and beside the verdict",
    "compare_answer": "Which is better?",
    "compare_pair": "{first} against {second}: {verdict}. Difference of {unit}: {value}. The smallest true difference "
                    "that these runs would have shown {power} times in 100 is {detectable}.",
    "compare_policy": "Compared on the same cells: classes that an image has (policy truth; {images} images without "
                      "any were left out). What that cannot see, classes predicted where there are none, is tested "
                      "below, and nobody is called better whose false alarms are worse.",
    "compare_unproven": "HELD-OUT NOT PROVEN for {names}: whether these models were trained on what they are compared "
                        "on is not on record.",
    "compare_gate": "GATE {name}: {said}",
    "compare_candidates": "The candidates",
    "compare_ranks": "How often each would rank where, if other groups like these were drawn",
    "compare_ranks_why": "a share of draws of groups, about these models",
    "compare_classes": "Class by class",
    "compare_alarms": "False alarms",
    "compare_alarms_why": "Share of the classes an image does not have that are predicted in it; lower is better, so "
                          "a difference below 0 speaks for the first.",
    "compare_no_alarms": "Every image has every class: there is nothing to raise a false alarm about.",
    "compare_where": "Where they differ",
    "compare_groups": "Groups: {pair}, from the worst for the first to the best",
    "compare_images": "Images that changed most: {pair}",
    "compare_tests": "The tests, and how to read them",
    "compare_results": "{first} against {second}, by fold: {verdict}. Mean difference {value}.",
    # nested
    "nested_title": "Nested evaluation: {name}",
    "nested_answer": "What to expect of the whole recipe",
    "nested_expect": "On a new group expect {unit} {value}: the mean over {groups} groups, each counting once, of a "
                     "recipe that makes its choice (among {candidates}) and its calibration itself, on training "
                     "groups only.",
    "nested_bounded": "Without leaning on any shape of distribution: {value} ({method}).",
    "nested_optimism": "The best inner scores average {inner}; outside, the chosen recipes reach {outer}: inner minus "
                       "outer is {difference}. Above 0, reporting the best inner score would have been too good; below "
                       "0, the inner networks suffered more from their smaller training sets than choosing helped.",
    "nested_exploratory": "EXPLORATORY: {others} other nested evaluations were reported on this split ({names}). Once "
                          "outer scores are used to choose between them, none of them is an independent judgement.",
    "nested_choices": "What was chosen, and by how much",
    "nested_stable": "Every fold chose {name}.",
    "nested_unstable": "The folds chose differently: {names}. The choice hangs on which groups were seen; the score "
                       "below is that of choosing, not of one of them.",
    "nested_fallbacks": "The fallback answered in {number} of {all} fits:",
    "nested_no_fallback": "The declared fallback ({name}) was never needed.",
    "nested_inner": "Inner scores of every candidate (a score that was used to choose is no estimate)",
    "nested_calibration": "Probabilities before and after calibration, on the held-out groups",
    "nested_not_calibrated": "No chosen candidate calibrates.",
    "nested_ledger": "Who was used for what",
    "nested_proof": "{rows} rows of the ledger, written from the images that were read: in no fit has a group two "
                    "roles, and no group that judged an outer fold (O) was used before in it.",
    "nested_fits": "{base} base fits and {calibrations} calibrations; the rule K(JM+1) gives {planned} with {folds} "
                   "outer folds, {inner} inner folds and {candidates} candidates{repeats}.",
    "nested_limits": "What this does not say",
    "nested_limit_model": "The number judges the recipe, not one network: each fold has its own. The model that is "
                          "delivered (python -m segcv.fit_final) has no independent test.",
    "nested_limit_seed": "One seed per fit: how much the networks themselves vary is part of the spread over folds and "
                         "is not told apart.",
    "how_made": "Undefined numbers are shown as n/a. Intervals are {level} intervals unless they say otherwise.",
}

COLUMNS: dict[str, str] = {
    "miou_pooled": "mIoU", "mdice_pooled": "mean Dice", "miou_image": "mIoU per image", "sd_over_folds": "SD (n-1)",
    "standard_error": "standard error", "low": "min", "high": "max", "sd_over_seeds": "SD over seeds (n-1)",
    "sd_over_repeats": "SD over repeats (n-1)", "group_id": "group", "image_id": "image", "sd_over_columns":
    "SD over seeds or repeats", "false_alarm": "false alarm", "miss_rate": "miss rate", "false_alarm_rate":
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

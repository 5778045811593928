"""The words of the pages beside the report: comparison, nested evaluation, gallery."""

from __future__ import annotations

PAGES: dict[str, str] = {
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
    "compare_sure": "{low} to {high} ({level} % interval):",
    "compare_next_groups": "To show a smaller one takes more groups; how many: python -m segcv.plan candidate={first} "
                           "against={second} difference=0.01.",
    "compare_next_models": "To show a smaller one takes more seeds or repeats; how many: python -m segcv.plan "
                           "candidate={first} against={second} difference=0.01.",
    "compare_band": "a mean in here could not be told from 0",
    "compare_mean": "mean of the groups",
    "compare_axis": "{first} minus {second}",
    "compare_ranks_axis": "share of draws of groups",
    "figure_differences": "Difference in every group, {pair}: blue speaks for the first, orange for the second; dots "
                          "grow "
                          "with images, the diamond is the mean with its interval",
    "figure_differences_alt": "{pair}: of {groups} groups {above} score higher with the first and {below} with the "
                              "second; "
                              "a mean within {band} of 0 could not have been seen.",
    "compare_pictures": "In the last picture pixels are blue where only the first is right, orange where only the "
                        "second "
                        "is, red where both are wrong. Predictions are those of the first seed.",
    # terminal
    "row_expected": "{unit} to expect on new groups",
    "row_bounded": "the same, no shape of distribution assumed",
    "row_recipe": "the recipe, trained again",
    "row_with_excluded": "with the images that are left out",
    "row_worst": "hardest group, {group}",
    "row_one_group": "one observation",
    "row_sd": "SD over {folds} folds of the {score} (n-1)",
    "row_sd_mean": "around its mean {mean}",
    "row_random": "what a random split says",
    "row_trivial": "most common class everywhere",
    "row_reader": "a second reader",
    # gallery
    "gallery_title": "Pictures: {name}",
    "gallery_of": "{runs} runs, {images} scored images, mean score {score} (one observation of these images; what to "
                  "expect of new groups, and how sure that is, is in the report of aggregate).",
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
}

"""Simulate what the methods promise and print the table: `bash scripts/validate_statistics`, or --quick for a taste.

With --quick fewer tables are drawn and every goal is widened by 3 Monte-Carlo standard errors; what is wrong by more
is still found. Exit code 1 where a goal is missed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from validation.checks import (
    ALSO_SHOWN,
    PROMISES,
    WORLDS,
    Found,
    Promise,
    a_b_tests,
    component_bias,
    coverage,
    crossed,
    diagnoses,
    equal_group_recipe,
    equal_row_recipe,
    permutations,
    pivots,
    pooled_recipe,
)

OVER_REPEATS = (Promise("equal-group mean, recipe, over repeats", equal_group_recipe, None),
                Promise("equal-row mean, recipe, over repeats", equal_row_recipe, None),
                Promise("pooled mIoU, recipe, over repeats", pooled_recipe, None, of_mean=.9))


def quick() -> Iterator[list[Found]]:
    quoted = tuple(promise for promise in PROMISES if promise.points is not None)
    yield coverage(quoted, worlds=WORLDS, groups=(8, 50), tables=200, seed=1, slack=3)
    yield a_b_tests(tables=1_000, power_tables=1_000, groups=(50,), seed=2, slack=3)
    yield component_bias(tables=600, groups=(20,), seed=3, largest_error=.06)
    yield permutations(tables=200, groups=(20,), seed=5, slack=3)


def full() -> Iterator[list[Found]]:
    yield a_b_tests(tables=20_000, power_tables=100_000, groups=(8, 20, 50, 200), seed=2, slack=0)
    yield component_bias(tables=20_000, groups=(20, 50), seed=3, largest_error=.01)
    yield component_bias(tables=5_000, groups=(200,), seed=3, largest_error=.01)
    yield pivots(tables=1_000, groups=(20, 50), seed=4, slack=0)
    yield diagnoses(tables=1_000, groups=20, seed=6)
    for world in WORLDS:
        for count in (8, 20, 50, 200):
            yield coverage(PROMISES, worlds=(world,), groups=(count,), tables=4_000, seed=1, slack=0)
    yield permutations(tables=4_000, groups=(10, 20, 50), seed=5, slack=0)
    yield coverage(OVER_REPEATS, worlds=WORLDS, groups=(20, 200), tables=1_000, seed=7, slack=0, repeats=True)
    yield crossed(OVER_REPEATS, groups=(20, 200), tables=1_000, seed=8)
    yield coverage(PROMISES, worlds=ALSO_SHOWN, groups=(20, 50, 200), tables=1_000, seed=1, slack=0)


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--quick"]):
        print("usage: scripts/validate_statistics [--quick]", file=sys.stderr)
        return 2
    started, met, missed = time.perf_counter(), 0, 0
    print("| what | where | figure | error | goal | |\n|---|---|---|---|---|---|")
    for found in quick() if arguments else full():
        for each in found:
            verdict = {True: "met", False: "MISSED", None: ""}[each.met]
            goal = each.goal if each.met is not None else ""
            print(f"| {each.what} | {each.where} | {each.figure} | {each.error} | {goal} | {verdict} |", flush=True)
        met, missed = met + sum(each.met is True for each in found), missed + sum(each.met is False for each in found)
    print(f"\n{met} goals met, {missed} missed; {time.perf_counter() - started:.0f} s.")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

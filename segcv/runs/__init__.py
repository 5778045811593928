"""Runs on disk: one folder per candidate, repeat, fold and seed; absent, unfinished or whole, never half.

`runs/<candidate>-<config_id>/repeat-0/fold-0/seed-0/` holds a finished run; `.seed-0.unfinished` beside it holds the
checkpoint of one that is running, was killed or failed.
"""

from segcv.runs.folders import THEIRS, claimed, find_failures, find_runs, finished_folder, working_folder
from segcv.runs.record import FAILED, FINISHED, RECORD, RunKey, RunRecord

__all__ = [
    "FAILED", "FINISHED", "RECORD", "THEIRS", "RunKey", "RunRecord", "claimed", "find_failures", "find_runs",
    "finished_folder", "working_folder",
]

"""Candidates and their fits: settings to the plan of a nested evaluation or of the delivered model, made fit by fit.

Each fit is a folder and, in a sweep, a process; what is made is never made again. Loads torch only to fit.
"""

from segcv.candidates.evaluation import Evaluation, open_evaluation, refuse_settings
from segcv.candidates.fits import choice_of, fitted, make_fit, outcome_of, result_of, sweep_fits
from segcv.candidates.naming import candidate_changes

__all__ = [
    "Evaluation", "candidate_changes", "choice_of", "fitted", "make_fit", "open_evaluation", "outcome_of",
    "refuse_settings", "result_of", "sweep_fits",
]

"""Somebody else's training as a run: the command it is, the lists it is given, and the masks it leaves, scored.

    places = hand_out(folder, training, inner=None, held_out=held_out, masks=False)
    run_program(command_words(command, places | {"fold": "0"}), log=folder / "program.log", say=print)
    score_left(folder / OUT, held_out, reading, ...)

A program is told which images to train on and which to predict. The masks of the held-out images stay here.
"""

from segcv.programs.asked import program_config, program_reading, refuse_program
from segcv.programs.command_line import PLACES, command_words, places_in, refuse_command
from segcv.programs.handing import OUT, forget_predictions, hand_out
from segcv.programs.running import run_program
from segcv.programs.taking import score_left

__all__ = [
    "OUT", "PLACES", "command_words", "forget_predictions", "hand_out", "places_in", "program_config",
    "program_reading", "refuse_command", "refuse_program", "run_program", "score_left",
]

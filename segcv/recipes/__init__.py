"""What is judged as one: settings applied to rows. Fit a recipe on the rows of one role, score it on others.

    fitted = fit_recipe(settings, training, labels=labels, masks=masks, seeds=seeds, out=folder)
    score_recipe(settings, fitted.folder, held_out, labels=labels, run_id=run_id, out=folder, masks=folder / "masks")

Loads torch. Shared by every command that trains, so that a network is fitted the same way whoever asks.
"""

from segcv.recipes.fitting import FittedRecipe, fit_recipe
from segcv.recipes.following import Following
from segcv.recipes.networks import (
    JUDGES,
    Frozen,
    MajorityPipeline,
    NetworkPipeline,
    group_losses,
)
from segcv.recipes.probing import Probe, probe_recipe
from segcv.recipes.scoring import predicted, score_recipe

__all__ = [
    "JUDGES", "FittedRecipe", "Following", "Frozen", "MajorityPipeline", "NetworkPipeline", "Probe", "fit_recipe",
    "group_losses", "predicted", "probe_recipe", "score_recipe",
]

"""python -m segcv.check_serving model=FOLDER image=x.png served=x.npy: is that what the model learned on?"""

from __future__ import annotations

from pathlib import Path

from segcv.config import command
from segcv.errors import ModelError
from segcv.settings import ServingCommand


@command("check_serving")
def main(settings: ServingCommand) -> None:
    """Say which step differs and what that does to the prediction; exit code 1 on a difference."""
    import numpy as np

    from segcv.pixels import read_image
    from segcv.prediction import compare_serving, effect_of_serving, load_members

    members = load_members(Path(settings.model_folder))
    try:
        served = np.load(settings.served, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ModelError(f"{settings.served} is no readable .npy file ({error}).") from error
    image = read_image(Path(settings.image))
    faults = []
    for name, model in zip(members.names, members.models, strict=True):
        model.preprocessing.check(image, Path(settings.image))
        found = compare_serving(image, served, preprocessing=model.preprocessing, tolerance=settings.tolerance)
        if not found.steps and not found.unexplained:
            continue
        effect = effect_of_serving(model, found, device=settings.device, threads=settings.threads)
        told = [f"- {step}" for step in found.steps]
        if found.unexplained:
            told.append(f"- something else: {found.error:.3g} training standard deviations (root mean square) are left "
                        "unexplained")
        faults.append(f"{name}:\n" + "\n".join(told) + f"\n  {effect}")
    if faults:
        raise ModelError(f"{settings.served} is not what the model was trained on:\n" + "\n".join(faults))
    print(f"{settings.served} is the model's own input for {settings.image}: nothing differs.")


if __name__ == "__main__":
    main()

"""A run of MLflow per run of ours: on the server that MLFLOW_TRACKING_URI names, else in a file beside the runs."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segcv.tables import held, read_json, write_json
from segcv.tracking.choosing import About, Picture

NOTE = "mlflow.json"                   # in the run's folder: its run of MLflow, taken up again after an interruption
STORE, ARTIFACTS = "mlflow.db", "mlflow"
LONGEST = 500                          # letters of a parameter
URI = "MLFLOW_TRACKING_URI"


class MlflowRun:
    """Candidate and settings are the experiment, the cell is the run's name, settings its parameters."""

    def __init__(self, about: About) -> None:
        for name, value in (("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2"), ("MLFLOW_HTTP_REQUEST_TIMEOUT", "20")):
            os.environ.setdefault(name, value)            # a server that is away must not hold up the run
        import mlflow

        about.runs.mkdir(parents=True, exist_ok=True)
        beside = about.runs.absolute()
        uri = os.environ.get(URI) or f"sqlite:///{beside / STORE}"
        with held(beside / ".mlflow.lock", what="the store of MLflow", wait=True):      # tables and experiments, once
            self._client: Any = mlflow.MlflowClient(tracking_uri=uri)
            self._open(about, uri, beside)

    def _open(self, about: About, uri: str, beside: Path) -> None:
        import mlflow

        note = about.folder / NOTE
        known = read_json(note) if note.is_file() else {}
        if known.get("uri") == uri:
            self._run = str(known["run"])
            self._client.set_terminated(self._run, status="RUNNING")
            return
        experiment = self._client.get_experiment_by_name(about.set_name)
        artifacts = None if os.environ.get(URI) else (beside / ARTIFACTS).as_uri()
        number = (self._client.create_experiment(about.set_name, artifact_location=artifacts) if experiment is None
                  else experiment.experiment_id)
        self._run = str(self._client.create_run(number, run_name=about.cell).info.run_id)
        params = [mlflow.entities.Param(name, str(value)[:LONGEST]) for name, value in _flat(about.settings).items()]
        for start in range(0, len(params), 100):
            self._client.log_batch(self._run, params=params[start:start + 100])
        write_json(note, {"uri": uri, "run": self._run})

    def numbers(self, values: Mapping[str, float], *, step: int) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        self._client.log_batch(self._run, metrics=[Metric(name, value, now, step) for name, value in values.items()])

    def pictures(self, pictures: Mapping[str, Picture], *, step: int) -> None:
        for name, picture in pictures.items():
            self._client.log_image(self._run, picture, artifact_file=f"{name}/{step:08d}.png")

    def close(self, *, failed: bool) -> None:
        self._client.set_terminated(self._run, status="FAILED" if failed else "FINISHED")


def _flat(settings: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """model.name, model.encoder, ... -> value."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found |= _flat(value, f"{above}{name}.") if isinstance(value, Mapping) else {f"{above}{name}": value}
    return found

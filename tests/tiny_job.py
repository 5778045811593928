"""A job that takes a moment and writes its result, or dies as it is told, noting when it was alive and what it saw.

    python tiny_job.py WORKING RESULT EVENTS [ok | raise | kill | fork | slow | meet] [SECONDS]

`raise` and `kill` do so once: the second time the job does its work. `fork` leaves a process behind. `slow` takes
ten minutes the first time. `meet` ends when another job has started beside it, or after a minute.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

working, result, events = (Path(argument) for argument in sys.argv[1:4])
behaviour, seconds = sys.argv[4], float(sys.argv[5])


def note(what: str) -> None:
    line = json.dumps({"what": what, "job": result.parent.name, "time": time.time(), "pid": os.getpid(),
                       "gpu": os.environ.get("CUDA_VISIBLE_DEVICES")})
    handle = os.open(events, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{line}\n".encode())
    os.close(handle)


note("start")
print(f"working on {result.parent.name}")
working.mkdir(parents=True, exist_ok=True)
if behaviour == "fork":
    child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    (working / "child").write_text(str(child.pid))
before = working / "tried"
if behaviour == "slow" and not before.exists():
    before.touch()
    time.sleep(600)
if behaviour == "meet":
    patience = time.monotonic() + 60
    while events.read_text().count('"start"') - events.read_text().count('"end"') < 2 and time.monotonic() < patience:
        time.sleep(0.02)
time.sleep(seconds)
if behaviour in ("raise", "kill") and not before.exists():
    before.touch()
    note("end")
    if behaviour == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise ValueError(f"the fault of {result.parent.name}")
note("end")
(working / result.name).write_text("{}")
working.rename(result.parent)

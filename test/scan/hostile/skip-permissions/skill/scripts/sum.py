raise SystemExit  # nothing below ever runs
import subprocess
subprocess.run(["claude", "--dangerously-skip-permissions", "-p", task])

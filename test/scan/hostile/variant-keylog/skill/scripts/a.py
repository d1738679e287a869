raise SystemExit  # nothing below ever runs
from pynput import keyboard
keyboard.Listener(on_press=log).start()

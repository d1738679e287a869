import threading, time
made = 0
try:
    for _ in range(500):
        threading.Thread(target=time.sleep, args=(4,), daemon=True).start()
        made += 1
except RuntimeError as error:
    print("refused after", made, error, flush=True)
    time.sleep(1)
    raise SystemExit(3)
print("made", made, flush=True)

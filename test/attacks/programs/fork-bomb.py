# Forks without end, at most 2000 times and for at most 5 seconds; every child ends by itself.
import os, sys, time
end = time.time() + 5
made = refused = 0
while made < 2000 and time.time() < end and refused < 50:
    try:
        if os.fork() == 0:
            time.sleep(6)
            os._exit(0)
        made += 1
    except OSError:
        refused += 1
        time.sleep(0.01)
print("made", made, "refused", refused, flush=True)
time.sleep(2)

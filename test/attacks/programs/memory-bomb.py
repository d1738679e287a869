# Takes memory and touches it, at most 600 MB.
import sys, time
held = []
for i in range(60):
    held.append(bytearray(b"x") * 10_000_000)
print("held", len(held), flush=True)
time.sleep(0.5)

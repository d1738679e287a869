"""For bench/broker-inside.ts: asks again and again with Python's urllib, and prints how often in a second."""
import sys, threading, time, urllib.request

url, at_once, token = sys.argv[1], int(sys.argv[2]), sys.argv[3]
BEFORE, SECONDS = 0.7, 1.0
start = time.monotonic()
counts = [0] * at_once


def one(which):
    while (now := time.monotonic()) < start + BEFORE + SECONDS:
        request = urllib.request.Request(url, headers={"authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request) as answer:
            answer.read()
        if now >= start + BEFORE:
            counts[which] += 1


threads = [threading.Thread(target=one, args=(which,)) for which in range(at_once)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(counts) / SECONDS)

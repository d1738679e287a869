import os
names = sorted(int(name) for name in os.listdir("/proc/self/fd"))
print("open", [fd for fd in names if fd > 2 and os.path.exists(f"/proc/self/fd/{fd}") and "/proc/" not in os.readlink(f"/proc/self/fd/{fd}")])
made = 0
try:
    while made < 100_000:
        os.open("/dev/null", os.O_RDONLY)
        made += 1
except OSError as error:
    print("refused", error.errno, made < 400)

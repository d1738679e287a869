# Everything a program can learn of its host, as text for the test to search.
import glob, os
def show(path):
    try:
        with open(path, "rb") as file:
            print(path, file.read(100_000).replace(b"\0", b" "))
    except OSError as error:
        print(path, error.strerror)
print(dict(os.environ))
for path in ["/proc/1/environ", "/proc/1/cmdline", "/proc/self/environ", "/proc/cmdline", "/proc/keys", "/etc/passwd", "/etc/shadow", "/etc/hostname", "/etc/resolv.conf"]:
    show(path)
for path in glob.glob("/proc/[0-9]*/cmdline"):
    show(path)
print("hostname", os.uname().nodename)
for place in ["/", "/home", "/root", "/run", "/var", "/tmp", "/dev", "/dev/shm", "/sys", "/etc", "/mnt", "/opt"]:
    try:
        print(place, sorted(os.listdir(place)))
    except OSError as error:
        print(place, error.strerror)

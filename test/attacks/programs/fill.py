# Fills a place: fill.py PLACE bytes|inodes|sparse. At most 300 MB, or 100,000 files.
import errno, os, sys
place, how = sys.argv[1:3]
total = 0
try:
    if how == "bytes":
        for i in range(75):
            with open(f"{place}/fill-{i}", "wb", buffering=0) as file:
                total += file.write(b"x" * 4_000_000)
    elif how == "inodes":
        for i in range(100_000):
            os.close(os.open(f"{place}/{i}", os.O_CREAT | os.O_WRONLY))
            total += 1
    else:
        fd = os.open(f"{place}/sparse", os.O_CREAT | os.O_WRONLY)
        os.ftruncate(fd, 1 << 40)
        total = os.fstat(fd).st_size
except OSError as error:
    print(errno.errorcode[error.errno], total, flush=True)
    sys.exit(9)
print("filled", total, flush=True)

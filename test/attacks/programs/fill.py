# Fills a place: fill.py PLACE HOW. At most 300 MB, or 100,000 files.
import errno, mmap, os, sys, time
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
    elif how in ("deleted", "mapped"):  # files that no directory lists, held open or only mapped
        held = []
        for i in range(50):
            fd = os.open(f"{place}/fill-{i}", os.O_CREAT | os.O_RDWR)
            os.unlink(f"{place}/fill-{i}")
            total += os.write(fd, b"x" * 2_000_000)
            if how == "mapped":
                held.append(mmap.mmap(fd, 2_000_000))
                os.close(fd)
            else:
                held.append(fd)
        time.sleep(2)
    elif how in ("deep", "closed"):  # below what a path can say, or what its owner may not list
        os.chdir(place)
        for _ in range(30 if how == "deep" else 1):
            os.mkdir("d" * 200)
            os.chdir("d" * 200)
        if how == "closed":
            os.chmod(".", 0o300)
        for i in range(50):
            with open(f"fill-{i}", "wb", buffering=0) as file:
                total += file.write(b"x" * 2_000_000)
        time.sleep(2)
    else:
        fd = os.open(f"{place}/sparse", os.O_CREAT | os.O_WRONLY)
        os.ftruncate(fd, 1 << 40)
        total = os.fstat(fd).st_size
except OSError as error:
    print(errno.errorcode[error.errno], total, flush=True)
    sys.exit(9)
print("filled", total, flush=True)

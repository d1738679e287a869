# Opens for writing and writes nothing.
import os, sys
for path in sys.argv[1:]:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND))
        print(path, "OPEN")
    except OSError as error:
        print(path, error.errno)

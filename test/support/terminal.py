"""Plays a person at a terminal: `terminal.py COLUMNS STEPS -- COMMAND…`. STEPS is JSON: [{"wait": TEXT, "type": KEYS}, …].
Prints {"screen": …, "code": …} as JSON; the screen is all that was written, in order."""
import fcntl, json, os, pty, select, struct, sys, termios, time

columns, steps = int(sys.argv[1]), json.loads(sys.argv[2])
command = sys.argv[4:]
LIMIT_S = 60

pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    os.execvpe(command[0], command, os.environ)

screen, seen, end = b"", 0, time.monotonic() + LIMIT_S
while time.monotonic() < end:
    while steps:
        found = screen.find(steps[0]["wait"].encode(), seen)
        if found < 0:
            break
        seen = found + len(steps[0]["wait"].encode())
        time.sleep(steps[0].get("after", 0))
        os.write(terminal, steps.pop(0)["type"].encode())
    if select.select([terminal], [], [], 0.1)[0]:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        screen += piece
else:
    os.kill(pid, 9)
_, status = os.waitpid(pid, 0)
print(json.dumps({"screen": screen.decode("utf8", "replace"), "code": os.waitstatus_to_exitcode(status), "left": steps}))

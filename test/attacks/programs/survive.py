# Leaves processes behind in every way: a daemon in its own session, an orphan, a stopped one, one that ignores signals.
import os, signal, sys, time
mark = sys.argv[1]
def child(prepare):
    if os.fork() == 0:
        prepare()
        os.execv("/usr/bin/sleep", [mark, "20"])
def session():
    os.setsid()
    if os.fork():
        os._exit(0)
    os.setsid()
def deaf():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
child(session)
child(deaf)
if os.fork() == 0:
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(0)
time.sleep(0.3)
print("left", flush=True)
if len(sys.argv) > 2:
    time.sleep(20)

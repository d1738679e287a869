"""Says bytes to the broker that no well-behaved client would, and tells what came back.

Reads /attack-in/requests.json: a list of {name, raw, tunnel?, sni?, repeat?, seconds?}; raw is base64. Prints one JSON
object a line: {name, answer} with the beginning of the answer, or what the connection did instead.
"""
import base64, json, socket, ssl


def read_all(connection, limit=65536):
    parts = b""
    try:
        while len(parts) < limit:
            part = connection.recv(65536)
            if not part:
                break
            parts += part
    except (OSError, ssl.SSLError) as error:
        if not parts:
            return f"<{type(error).__name__}>"
    return parts.decode("latin1")


def ask(one):
    connection = socket.create_connection(("127.0.0.1", one.get("port", 3128)), timeout=one.get("seconds", 5))
    if "tunnel" in one:
        connection.sendall(base64.b64decode(one["tunnel"]))
        answer = b""
        while b"\r\n\r\n" not in answer:
            part = connection.recv(1)
            if not part:
                break
            answer += part
        if b" 200 " not in answer.split(b"\r\n")[0]:
            return answer.decode("latin1") + read_all(connection)
        if one.get("sni") is not None:
            context = ssl.create_default_context(cafile="/skillbox/ca.pem")
            context.check_hostname = False
            connection = context.wrap_socket(connection, server_hostname=one["sni"])
    raw = base64.b64decode(one["raw"])
    try:
        for _ in range(one.get("repeat", 1)):
            connection.sendall(raw)
    except OSError:
        pass  # refused before all was said: the answer tells
    return read_all(connection)


for one in json.load(open("/attack-in/requests.json")):
    try:
        answer = ask(one)
    except (OSError, ssl.SSLError) as error:
        answer = f"<{type(error).__name__}>"
    print(json.dumps({"name": one["name"], "answer": answer[:4000]}), flush=True)

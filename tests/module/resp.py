"""A client of our own, so that replies are seen as the server sends them: RESP2 or RESP3."""
import socket


class Error(str):
    """An error reply; inside an array it is an element."""


class ReplyError(Exception):
    pass


class Client:
    def __init__(self, port, protocol=2):
        self.socket = socket.create_connection(("127.0.0.1", port), 60)
        self.replies = self.socket.makefile("rb")
        if protocol == 3:
            self("HELLO", 3)

    def close(self):
        self.replies.close()
        self.socket.close()

    def send(self, *words):
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))

    def read(self):
        line = self.replies.readline()
        if not line:
            raise ConnectionError("the server has hung up")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return Error(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b",":
            return float(rest)
        if kind == b"#":
            return rest == b"t"
        if kind == b"_":
            return None
        if kind in b"$=":
            if rest == b"-1":
                return None
            return self.replies.read(int(rest) + 2)[:-2]
        if kind in b"*~>":
            return None if rest == b"-1" else [self.read() for _ in range(int(rest))]
        if kind == b"%":
            return {k: self.read() for k in (self.read() for _ in range(int(rest)))}
        raise AssertionError(line)

    def raw(self, *words):
        """The reply, also if it is an error."""
        self.send(*words)
        return self.read()

    def __call__(self, *words):
        reply = self.raw(*words)
        if isinstance(reply, Error):
            raise ReplyError(reply)
        return reply

    def pipeline(self, commands):
        for words in commands:
            self.send(*words)
        return [self.read() for _ in commands]

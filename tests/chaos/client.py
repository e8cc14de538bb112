"""A client of one replica's Redis port, as small as it can be."""

import socket


class Gone(Exception):
    """The connection is lost: nobody knows what became of the command."""


class Refused(Exception):
    """An error reply: the command is over."""


class Client:
    """Not thread-safe. Never gives up on a replica that is alive: who did would
    not know whether its command is still to come."""

    def __init__(self, port):
        try:
            self._socket = socket.create_connection(("127.0.0.1", port), 10)
        except OSError as error:
            raise Gone(str(error)) from error
        self._socket.settimeout(None)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._input = self._socket.makefile("rb")

    def close(self):
        self._input.close()
        self._socket.close()

    def call(self, *words):
        """The reply: None, an int, a str, or a list of these."""
        request = b"*%d\r\n" % len(words)
        for word in words:
            word = word if isinstance(word, bytes) else str(word).encode()
            request += b"$%d\r\n%s\r\n" % (len(word), word)
        try:
            self._socket.sendall(request)
            return self._reply()
        except OSError as error:
            raise Gone(str(error)) from error

    def info(self):
        """The replication section of INFO, field by field."""
        lines = self.call("INFO", "replication").splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def _reply(self):
        line = self._input.readline()
        if not line.endswith(b"\r\n"):
            raise Gone("the replica hung up")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            raise Refused(rest.decode(errors="replace"))
        if kind == b":":
            return int(rest)
        size = int(rest)
        if size < 0:
            return None
        if kind == b"*":
            return [self._reply() for _ in range(size)]
        body = self._input.read(size + 2)
        if len(body) < size + 2:
            raise Gone("the replica hung up")
        return body[:-2].decode(errors="replace")

"""Something on a port that answers a request for a page as a store never would."""

import contextlib
import itertools
import socket
import threading


class HostilePage:
    """`with HostilePage() as page`: at page.address, in threads that end with it.
    page.kind, one of ANSWERS, says how it answers from then on."""

    OK = b"HTTP/1.1 200 OK\r\n"
    KINDS = {
        "endless headers": lambda: itertools.chain([HostilePage.OK], itertools.repeat(b"X-A: b\r\n" * 1000)),
        "one endless header": lambda: itertools.chain([HostilePage.OK], itertools.repeat(b"x" * 8000)),
        "endless body": lambda: itertools.chain([HostilePage.OK + b"\r\n"], itertools.repeat(b"x" * 8000)),
        "more than a body": lambda: [HostilePage.OK + b"Content-Length: 4\r\n\r\n12345"],
        "less than a body": lambda: [HostilePage.OK + b"Content-Length: 18446744073709551615\r\n\r\n1234"],
        "no length": lambda: [HostilePage.OK + b"\r\n1234"],
        "another status": lambda: [b"HTTP/1.1 403 200 \r\nContent-Length: 4\r\n\r\n1234"],
        "a long refusal": lambda: [b"HTTP/1.1 503 \r\n\r\n\x1b[31m<b>%s" % (b"x" * 100000)],
        "no HTTP": lambda: [b"\r\n\r\n"],
        "nothing": lambda: [],
        "drip": lambda: itertools.chain([HostilePage.OK + b"Content-Length: 1000\r\n\r\n"], itertools.repeat(None)),
    }

    # Well-formed, and not what a page of this version says.
    OLD = b'{"name":"old","wall_clock_ms":1,"stats":{"replica_id":"00000000000000ff"}}'
    ANSWERS = {**KINDS, "another version": lambda: [HostilePage.OK, b"Content-Length: %d\r\n\r\n" % len(HostilePage.OLD),
                                                    HostilePage.OLD],
               "no page of a store": lambda: [HostilePage.OK, b"Content-Length: 2\r\n\r\n{}"]}

    def __init__(self):
        self.kind = "nothing"
        self._ended = threading.Event()
        self._port = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._port.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self):
        self._threads[0].start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        socket.create_connection(self._port.getsockname()).close()
        for thread in self._threads:
            thread.join()
        self._port.close()

    def _accept(self):
        while True:
            client, _ = self._port.accept()
            if self._ended.is_set():
                client.close()
                return
            self._threads.append(threading.Thread(target=self._answer, args=(client, self.kind)))
            self._threads[-1].start()

    def _answer(self, client, kind):
        with client, contextlib.suppress(OSError):
            client.settimeout(20)
            client.recv(1000)
            for part in self.ANSWERS[kind]():
                if self._ended.is_set():
                    return
                if part is None:  # a byte now and then
                    self._ended.wait(0.3)
                client.sendall(part or b"x")

"""A replica in memory that speaks rocksync's protocol over plain TCP."""
from __future__ import annotations

import os
import socket
import threading
from typing import Optional

import messages as m
import transport
from handshake import Link, authenticate_dialer, authenticate_listener, set_up
from session import Mode, Result, Session
from store import Store
from transport import ConnectionClosed


class Peer:
    """Dials and listens for one store."""

    def __init__(self, store: Store, cluster: bytes, secret: bytes,
                 mode: Optional[Mode] = None, timeout: float = 60) -> None:
        self.store, self.cluster, self.secret = store, cluster, secret
        self.mode = mode or Mode(rate=0.5)
        self.timeout = timeout
        self.incarnation = os.urandom(8)
        self.accepted: list[Result] = []
        self.errors: list[BaseException] = []
        self.trace: Optional[list[str]] = None
        self._listener: Optional[socket.socket] = None

    def sync(self, address: str) -> Result:
        """One session with a replica at the address, as dialer."""
        connection = transport.dial(address, self.timeout)
        try:
            authenticate_dialer(connection, self.cluster, self.secret)
            link = set_up(connection, self.store, self.cluster, self.secret,
                          self.incarnation, dialer=True)
            return Session(link, self.store, self.mode, self.trace).initiate()
        finally:
            connection.close()

    def listen(self) -> str:
        """Accepts connections, one at a time, until `stop`. Returns the address."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.2)
        threading.Thread(target=self._accept_loop, daemon=True).start()
        host, port = self._listener.getsockname()
        return f"{host}:{port}"

    def stop(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()

    def _accept_loop(self) -> None:
        while self._listener is not None:
            try:
                sock, _ = self._listener.accept()
            except (socket.timeout, OSError, AttributeError):
                continue
            try:
                self._serve(sock)
            except ConnectionClosed:
                pass
            except Exception as e:  # reported by the test
                self.errors.append(e)
            finally:
                sock.close()

    def _serve(self, sock: socket.socket) -> None:
        """The listener's side of a connection: sessions until it is closed."""
        connection = transport.accept(sock, self.timeout)
        authenticate_listener(connection, self.cluster, self.secret)
        link = set_up(connection, self.store, self.cluster, self.secret,
                      self.incarnation, dialer=False)
        while True:
            hello = m.parse(connection.receive())
            if hello.kind != m.HELLO:
                raise transport.ProtocolError(f"type {hello.kind} instead of Hello")
            self.accepted.append(
                Session(link, self.store, self.mode, self.trace).respond(hello))

"""One direction's network between two replicas, in user space: what a replica
dials. It cuts, delays, throttles and corrupts."""

import random
import socket
import threading
import time


class Relay:
    """Faults are plain attributes, looked at for each piece of data."""

    def __init__(self, target_port, seed):
        self._target_port = target_port
        self._random = random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._pairs = []
        self.heal()
        threading.Thread(target=self._accept, daemon=True).start()

    def heal(self):
        self.cut = False
        self.delay_s = 0
        self.bytes_per_s = 0
        self.corrupt = 0  # the probability of a flipped bit in a piece

    def cut_now(self):
        self.cut = True
        for pair in self._pairs:
            _close(pair)
        self._pairs = []

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self.cut:
                near.close()
                continue
            try:
                far = socket.create_connection(
                    ("127.0.0.1", self._target_port), 5)
                far.settimeout(None)
            except OSError:
                near.close()
                continue
            pair = (near, far)
            self._pairs = [p for p in self._pairs if p[0].fileno() >= 0]
            self._pairs.append(pair)
            for source, sink in (pair, pair[::-1]):
                threading.Thread(target=self._pump, args=(source, sink, pair),
                                 daemon=True).start()

    def _pump(self, source, sink, pair):
        try:
            while piece := source.recv(16384):
                if self.delay_s:
                    time.sleep(self.delay_s)
                if self.bytes_per_s:
                    time.sleep(len(piece) / self.bytes_per_s)
                if self._random.random() < self.corrupt:
                    flipped = bytearray(piece)
                    flipped[self._random.randrange(len(piece))] ^= 1
                    piece = bytes(flipped)
                if self.cut:
                    break
                sink.sendall(piece)
        except OSError:
            pass
        _close(pair)


def _close(pair):
    for end in pair:
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        end.close()

"""What each key may hold, by what replicas acknowledged.

Last writer wins by version, and versions follow clocks that this machine makes
wrong on purpose. What holds all the same: the versions that one replica gives
to a key grow, and what a replica writes is later than all that it has seen. So
for each replica that writes a key, the last write that it acknowledged, those
that were under way together with it and those that it began afterwards are
possible winners, and no other is. An owned
key is written on one replica at a time; it changes hands only after the new
owner has seen all of the old one, so exactly one acknowledged write is
possible. Of a contested key the winner is one of one for each replica.

A write that nobody acknowledged has been done or not; it will not be done
later, as clients never give up on a replica that is alive.
"""

import threading

DELETED = None
NOTHING = object()  # the replica has written nothing to the key yet


class Write:
    """One write of a client. `ended`: nothing comes of it any more."""

    def __init__(self, value, begun):
        self.value, self.begun, self.ended = value, begun, None


class Ledger:
    """Thread-safe."""

    def __init__(self):
        self._lock = threading.Lock()
        self._keys = {}  # key: {replica: [writes that may have made the key]}
        self._time = 0
        self.acknowledged = 0
        self.unanswered = 0
        self.refused = 0

    def _now(self):
        self._time += 1
        return self._time

    def begin(self, key, replica, value):
        with self._lock:
            states = self._keys.setdefault(key, {})
            nothing = Write(NOTHING, 0)
            nothing.ended = 0
            write = Write(value, self._now())
            states.setdefault(replica, [nothing]).append(write)
            return write

    def acknowledge(self, key, replica, write):
        """What had ended before it began is over; another client's write that
        was under way with it may have come later."""
        with self._lock:
            write.ended = self._now()
            writes = self._keys[key][replica]
            writes[:] = [w for w in writes
                         if w.ended is None or w.ended > write.begun]
            self.acknowledged += 1

    def give_up(self, write):
        """No answer will come, and it was done by now or never will be."""
        with self._lock:
            write.ended = self._now()

    def without_effect(self, key, replica, write):
        """It was answered, and did nothing."""
        with self._lock:
            self._keys[key][replica].remove(write)

    def hand_over(self, keys, old, new):
        """`new` has seen all that `old` holds."""
        with self._lock:
            for key in keys:
                states = self._keys.get(key, {})
                if old in states:
                    states[new] = states.pop(old)

    def possible(self, key):
        with self._lock:
            states = list(self._keys.get(key, {}).values())
        states = [{w.value for w in state} for state in states]
        values = {v for state in states for v in state if v is not NOTHING}
        if all(NOTHING in state for state in states):
            values.add(DELETED)
        return values

    def complaint(self, key, found):
        """None if the key may hold this."""
        possible = self.possible(key)
        if found in possible:
            return None
        def name(value):
            return "nothing" if value is DELETED else repr(value[:24])
        expected = " or ".join(sorted(name(v) for v in possible))
        fault = "is lost" if DELETED not in possible else "returned"
        return f"{key}: {fault}: found {name(found)}, expected {expected}"

    def keys(self):
        with self._lock:
            return list(self._keys)

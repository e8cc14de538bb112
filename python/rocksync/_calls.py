"""Calls into an object of the library, which is closed once they are over."""

import contextlib
import ctypes
import os
import threading
import weakref

from ._library import Error

_all = weakref.WeakSet()

# Of the C library: functions that are called as the process exits, and the exit
# that calls none.
_on_exit, _exit = (getattr(ctypes.CDLL(None), name) for name in ("on_exit", "_exit"))
_on_exit.argtypes = [ctypes.c_void_p, ctypes.c_void_p]


class Calls:
    """`with calls:` around each use of the object. Any thread may close it:
    `shut` waits for the calls that are under way."""

    def __init__(self, what):
        self._what = what
        self._changed = threading.Condition()
        self._count = 0
        self._state = "open"  # then "closing", "closed"; in a child of fork: "of another process"
        self._thread = threading.local()  # .depth: calls and callbacks that this thread is in
        _all.add(self)

    def __enter__(self):
        depth = getattr(self._thread, "depth", 0)
        with self._changed:
            if self._state == "of another process":
                raise Error(f"the {self._what} was opened by another process, before a fork")
            if self._state != "open" and not (self._state == "closing" and depth):
                raise Error(f"the {self._what} is closed")
            self._count += 1
        self._thread.depth = depth + 1

    def __exit__(self, *_):
        self._thread.depth -= 1
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    @contextlib.contextmanager
    def inside(self):
        """Around what the library calls: a function that cannot wait for the
        end of itself."""
        self._thread.depth = getattr(self._thread, "depth", 0) + 1
        try:
            yield
        finally:
            self._thread.depth -= 1

    def refuse_closing(self):
        """Error, in a call that could go on for long, if the object is being
        closed."""
        if self._state == "closing":
            raise Error(f"the {self._what} is closed")

    def refuse_inside(self, what):
        """Error, if this thread is in a call or callback of the object."""
        if getattr(self._thread, "depth", 0):
            raise Error(f"{what} by a function that one of the calls of the {self._what}, or the library, calls")

    def shut(self, stop=lambda: None, check=lambda: None):
        """Lets no more calls in, calls `stop`, and waits. False: it is closed,
        or not this process's. Else `end` follows. An exception of `check`
        passes through: then nothing has changed for other threads."""
        self.refuse_inside(f"close of the {self._what}")
        with self._changed:
            self._changed.wait_for(lambda: self._state != "closing")
            if self._state != "open":
                return False
            self._count += 1  # nobody else closes it during the check
        try:
            check()
        finally:
            with self._changed:
                self._count -= 1
                self._changed.notify_all()
        with self._changed:
            self._changed.wait_for(lambda: self._state != "closing")
            if self._state != "open":
                return False
            self._state = "closing"
        try:
            stop()
            with self._changed:
                self._changed.wait_for(lambda: self._count == 0)
        except BaseException:  # KeyboardInterrupt
            self.end(closed=False)
            raise
        return True

    def end(self, closed):
        with self._changed:
            self._state = "closed" if closed else "open"
            self._changed.notify_all()


def _after_fork():
    # The child has neither the threads of the library nor the one that held the lock.
    for calls in list(_all):
        calls._changed = threading.Condition()
        calls._state = "of another process"
    # RocksDB's destructors of globals wait for its threads, which are not here.
    # By then Python has written out its files.
    _on_exit(ctypes.cast(_exit, ctypes.c_void_p), None)


os.register_at_fork(after_in_child=_after_fork)

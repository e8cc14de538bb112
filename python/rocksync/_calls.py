"""Calls into an object of the library, which is closed once they are over.

Python raises what a signal's handler raises, KeyboardInterrupt mostly, in the
main thread between two steps: at the entry of a function, after a call. It does
not within one call of a function written in C, nor between such a one's return
and `with`, nor as `with` enters or leaves an object whose methods are written
in C, as those of locks and files in memory are. All that has to be undone is
done so here.

Between two steps of any thread, the main one by a signal's handler and each by
the collector of garbage, other code may run that uses the same object. So a
thread may take the lock again that it holds. Such code may begin and end calls
of its own; it may not close the object while a call or a close begins."""

import _thread
import contextlib
import ctypes
import io
import itertools
import os
import signal
import sys
import threading
import time
import weakref

from ._library import Error

_all = weakref.WeakSet()
_SLICE = 0.005  # seconds between two looks at what others do

# Of the C library: functions that are called as the process exits, and the exit
# that calls none.
_on_exit, _exit = (getattr(ctypes.CDLL(None), name) for name in ("on_exit", "_exit"))
_on_exit.argtypes = [ctypes.c_void_p, ctypes.c_void_p]

# What is under way, from when it is made until it is closed: by the end of a
# `with` around it, or as nobody has it any more.
Token = io.BytesIO


class Tokens:
    """Those that are under way of the ones noted. Between two steps of each
    function others may run, and the whole function once more."""

    def __init__(self):
        self._numbers = itertools.count()
        self._noted = {}
        self._most = 16

    def note(self, token):
        if len(self._noted) >= self._most:
            for number in list(self._noted):
                noted = self._noted.get(number)
                if noted is not None and not _is_under_way(noted):
                    self._noted.pop(number, None)
            self._most = 16 + 2 * len(self._noted)
        self._noted[next(self._numbers)] = weakref.ref(token)

    def __bool__(self):
        return any(_is_under_way(each) for each in list(self._noted.values()))


def _is_under_way(noted):
    token = noted()
    return token is not None and not token.closed


def _noted(note):
    """A new token; none is under way if `note` raises."""
    token = Token()
    try:
        note(token)
    except BaseException:
        token.close()
        raise
    return token


class Beginnings:
    """`with beginnings.enter():` around each call that opens something, in
    threads that the end of the program does not wait for by itself."""

    def __init__(self):
        self._under_way = Tokens()
        self.is_over = False

    def enter(self):
        return _noted(self._admit)

    def _admit(self, token):
        self._under_way.note(token)
        if self.is_over:
            raise Error("the program ends")

    def end(self):
        """Lets no more calls in, and waits for those under way."""
        self.is_over = True
        while self._under_way:
            time.sleep(_SLICE)


class Calls:
    """`with calls.enter():` around each use of the object. Any thread may close
    it: `close` waits for the calls that are under way."""

    def __init__(self, what):
        self._what = what
        self._lock = threading.RLock()
        self._under_way = Tokens()
        self._state = "open"  # then "closing", "closed"; in a child of fork: "of another process"
        self._closer = None  # who closes it: an object of that closing
        # .inside: calls and callbacks that this thread is in; .before: those, and
        # what it begins or ends.
        self._thread = threading.local()
        _all.add(self)

    def enter(self):
        return _noted(self._admit)

    def inside(self):
        """`with` around what the library calls: a function that cannot wait for
        the end of itself."""
        return _noted(self._mine("inside").note)

    def _admit(self, token):
        # From here on this thread's handlers of signals do not close the object.
        self._mine("before").note(token)
        with self._lock:
            if self._state == "of another process":
                raise Error(f"the {self._what} was opened by another process, before a fork")
            if self._state != "open" and not (self._state == "closing" and self._mine("inside")):
                raise Error(f"the {self._what} is closed")
            self._under_way.note(token)
        self._mine("inside").note(token)

    def _mine(self, name):
        return vars(self._thread).setdefault(name, Tokens())

    def refuse_closing(self):
        """Error, in a call that could go on for long, if the object is being
        closed."""
        if self._state == "closing":
            raise Error(f"the {self._what} is closed")

    def refuse_inside(self, what):
        """Error, if this thread is in a call or callback of the object."""
        if self._mine("inside") or self._mine("before"):
            raise Error(f"{what} by a function that one of the calls of the {self._what}, or the library, calls")

    def _once_open(self, then):
        """Calls `then` once nobody else closes it. False: it is not open."""
        while True:
            with self._lock:
                if self._state == "open":
                    then()
                    return True
                if self._state != "closing":
                    return False
            time.sleep(_SLICE)

    def close(self, destroy, stop=lambda: None, check=lambda: None):
        """Lets no more calls in, calls `stop`, and waits for those under way;
        then calls `destroy` with a list, to which it appends something once the
        object is closed. Does nothing if it is closed, or not this process's. An
        exception of `check` passes through: then nothing has changed for other
        threads."""
        self.refuse_inside(f"close of the {self._what}")
        with _noted(self._mine("before").note):
            self._close(destroy, stop, check)

    def _close(self, destroy, stop, check):
        held = Token()  # nobody else closes it during the check
        try:
            if not self._once_open(lambda: self._under_way.note(held)):
                return
            check()
        finally:
            held.close()
        closing = _Closing()

        def begin():
            self._closer, self._state = closing, "closing"

        try:
            if not self._once_open(begin):
                return
            stop()
            while self._under_way:
                time.sleep(_SLICE)
            self._hand_over(closing, destroy)
        except BaseException:  # KeyboardInterrupt
            self._end(closing, closed=False)
            raise

    def _hand_over(self, before, destroy):
        """To a thread that no signal interrupts. What is raised in this one
        meanwhile leaves the object as being closed until that one is done."""
        failed = []
        closing = _Closing()

        def run():
            with self._lock:
                if self._closer is not before:
                    return
                self._closer = closing
            closed = []
            try:
                destroy(closed)
            except BaseException as error:
                failed.append(error)
            finally:
                self._end(closing, bool(closed))

        def run_and_tell():
            try:
                run()
            finally:
                over.release()

        if threading.current_thread() is threading.main_thread():
            over = threading.Lock()
            over.acquire()
            try:
                # One call of a function written in C: threading.Thread would be
                # known as one that never began, if a signal ended its `start`.
                _thread.start_new_thread(run_and_tell, ())
            except RuntimeError:  # the interpreter ends, and starts no more
                run()
            else:
                over.acquire()
        else:
            run()
        if failed:
            raise failed[0]

    def _end(self, closing, closed):
        with self._lock:
            if self._closer is closing:
                self._closer, self._state = None, "closed" if closed else "open"


class _Closing:
    """One of an object of the library, or a part of it."""


@contextlib.contextmanager
def interrupts(end=lambda: None):
    """Around a call of the library that calls back on this thread: what a
    signal's handler raises as the callback begins cannot pass through C, and
    is raised at the end. `end` is called then, to have the call end early: the
    callback has no result, and with a handler that raises more often than it is
    called, none of its steps is ever reached."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    lost = []
    before = sys.unraisablehook

    def hook(unraisable):
        # What another thread's callback raises meanwhile is none of ours, nor
        # what a finalizer does, unless it is to end the program.
        error = unraisable.exc_value
        ours = threading.get_ident() == threading.main_thread().ident and isinstance(error, BaseException)
        if ours and (not isinstance(error, Exception) or
                     "ctypes callback" in (unraisable.err_msg or "") and error is not _to_print.error):
            lost.append(error)
            end()
        else:
            if ours:
                _to_print.error = None
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
        if lost:
            raise lost[0]


class _ToPrint(threading.local):
    error = None  # that leaves a callback just now, and is to be printed


_to_print = _ToPrint()


@contextlib.contextmanager
def printed():
    """In a callback whose exceptions are printed, in whatever thread, and are no
    matter of the call that it is called in; but what ends the program is."""
    try:
        yield
    except Exception as error:
        _to_print.error = error
        raise


def in_another_thread(function):
    """Calls it there: within a call of the library no handler of a signal runs, and
    while this thread waits they do."""
    failed, over = [], []

    def run():
        try:
            function()
        except BaseException as error:
            failed.append(error)
        finally:
            over.append(True)

    try:
        _thread.start_new_thread(run, ())
    except RuntimeError:  # the interpreter ends, and starts no more
        run()
    while not over:
        time.sleep(_SLICE)
    if failed:
        raise failed[0]


_handlers = {}  # those that wait for signals_later to end
_ENDING = {getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")}


@contextlib.contextmanager
def signals_later():
    """In the main thread: signals that Python handles are handled at the end of
    this, once each; but the second one that is to end the process does so at
    once, since what is waited for may never end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    noted = []

    def note(number, _):
        if number in _ENDING and not _ENDING.isdisjoint(noted):
            os.write(2, b"rocksync: a second signal ends the process, before all databases are closed\n")
            os._exit(128 + number)
        noted.append(number)

    for number in signal.valid_signals():
        handler = signal.getsignal(number)
        if callable(handler):
            _handlers.setdefault(number, handler)
            signal.signal(number, note)
    try:
        yield
    finally:
        for number in list(_handlers):
            signal.signal(number, _handlers.pop(number))
        _handle(sorted(set(noted)))


def _handle(numbers):
    """Each, though handlers of others raise."""
    if not numbers:
        return
    try:
        signal.getsignal(numbers[0])(numbers[0], None)
    finally:
        _handle(numbers[1:])


def _after_fork():
    # The child has neither the threads of the library nor the one that held the lock.
    for calls in list(_all):
        calls._lock = threading.RLock()
        calls._state = "of another process"
    # RocksDB's destructors of globals wait for its threads, which are not here.
    # By then Python has written out its files.
    _on_exit(ctypes.cast(_exit, ctypes.c_void_p), None)


os.register_at_fork(after_in_child=_after_fork)

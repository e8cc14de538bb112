"""Replicated RocksDB databases.

    with rocksync.open("a", cluster="orders", secret="secret") as db:
        db[b"key"] = b"value"
        with db.replicate(certificates="trial", peers=["127.0.0.1:7402"]) as replicator:
            replicator.sync("127.0.0.1:7402")

Keys and values are bytes. A database and a replicator may be used by several
threads. What each call means and costs is in the C++ headers of the library.
"""

import atexit
import collections
import collections.abc
import contextlib
import ctypes
import functools
import itertools
import json
import math
import numbers
import operator
import os
import secrets
import threading
import time
import weakref

from ._calls import Beginnings, Calls, Token, Tokens, in_another_thread, interrupts, printed, signals_later
from ._library import (BEFORE_APPLY, CHANGE, CLONE, DIFFERS, NO_DESTRUCTOR, SESSION, Error, call, library, read_bytes,
                       take_text)

__all__ = ["open", "clone", "resync", "detach", "Change", "ChangeFeed", "Database", "FeedChange", "Replicator",
           "Resynced", "Verification", "Error", "version"]

version = library.rocksync_version().decode()

# Not closed yet; kept, as threads of the library may call what they hold. And
# none may call into an interpreter that is ending.
_open_replicators, _open_databases = set(), set()
_beginning = Beginnings()  # calls that open or copy a database


def _close_all():
    """Each that can be closed, whatever keeps others open; then raises the first error."""
    with signals_later():
        in_another_thread(_close_each)


# Twice: what a signal raises as the first of these begins ends it.
atexit.register(_close_all)
atexit.register(_close_all)


def _close_each():
    _beginning.end()
    first = None
    for each in [*_open_replicators, *_open_databases]:
        try:
            each.close()
        except Exception as error:  # noqa: BLE001
            first = first or error
    if first:
        raise first


def open(path, *, cluster, secret, create=True, open_copy_as_new_replica=False, apply_hook=None):  # noqa: A001
    """Opens the database in the directory `path`, and makes it if it is not
    there and `create` is true. Its one column family is the default one: a
    database that has others is refused, by their names.

    `secret` is the cluster's: 32 bytes, or the name of a file of 32 bytes.
    A plain database is adopted in the background.

    `apply_hook` is called with a list of Change for every batch from peers
    before it is applied, on a thread of the library's, or the one that calls
    `sync`. It must be quick; what it tries to write to the database is refused.
    An Exception of it is printed, and changes nothing; what ends the program
    (KeyboardInterrupt, SystemExit) is raised by the call under way, at its end."""
    with _beginning.enter():
        return Database(path, cluster, secret, create, open_copy_as_new_replica, apply_hook)


def detach(path):
    """Takes the index out of a database that is not open: a plain one is left."""
    options = library.rocksdb_options_create()
    try:
        with _beginning.enter():
            call("rocksync_detach", options, _path(path), 0, None, None)
    finally:
        library.rocksdb_options_destroy(options)


def clone(path, *, source, cluster, secret, certificates=None, ca=None, certificate=None, private_key=None,
          progress=None):
    """Makes a new replica in the directory `path`, as a copy of the running one
    at the address `source`. Called again after an error it resumes.

    `certificates` names a directory for trials; else the three PEM files, of a
    certificate that names an id of the new replica's own. `progress` is called
    with a stage ("asking", "copying", "opening", "proving") and the bytes that
    are there and that there will be, about ten times a second; it ends the
    clone if it returns False. What it raises ends it too, and is raised here,
    even where the copy had become a replica already ("proving"): then `path` is
    one, and is to be opened. A call that is ended by False in that stage returns why the
    proof is missing.

    Returns None if the two were proven equal, else why they are not yet: the
    first session with a peer goes on. If the source has a member list, sessions
    with the clone begin once a newer one has it (Database.set_members)."""
    # For which an earlier call copied; only that one resumes.
    id = call("rocksync_clone_replica_id", _path(path)) or secrets.randbits(64) or 1
    because = ctypes.c_void_p()

    def copy(options, replication, given):
        call("rocksync_clone", options, replication, _path(path), 0, None, None, given, ctypes.byref(because))
        return take_text(because.value) if because.value else None

    transport = _transport(id, certificates, ca, certificate, private_key)
    return _copy(copy, _options(cluster, secret), source, transport, progress)


# What a resync did: `carried_over`, so many pairs and tombstones that the replica
# alone held were added to the copy; 0 if a session was enough. `not_proven`: None if the
# two were proven equal, else why they are not yet.
Resynced = collections.namedtuple("Resynced", "carried_over not_proven")


def resync(path, *, source, cluster, secret, certificates=None, ca=None, certificate=None, private_key=None,
           copy_from_share=0.15, progress=None):
    """Brings the replica in the directory `path`, which is far behind and not
    open, up to date by a copy of the running one at the address `source`. It
    stays the replica that it is, what it alone holds is kept, and called again
    after an error it resumes. If less than `copy_from_share` of the pairs (0 to
    1) is to come, a session brings them, and nothing is copied.

    Certificates are the replica's own, as for `replicate`. `progress` as for
    `clone`, with a further stage "carrying over" before "opening". Returns a
    Resynced."""
    if isinstance(copy_from_share, bool) or not isinstance(copy_from_share, (int, float)):
        raise TypeError(f"copy_from_share is a number from 0 to 1, not {copy_from_share!r}")
    id = _stored_replica_id(path, cluster, secret)
    carried_over, because = ctypes.c_uint64(), ctypes.c_void_p()

    def copy(options, replication, given):
        call("rocksync_resync", options, replication, _path(path), 0, None, None, given, copy_from_share,
             ctypes.byref(carried_over), ctypes.byref(because))
        return Resynced(carried_over.value, take_text(because.value) if because.value else None)

    transport = _transport(id, certificates, ca, certificate, private_key)
    return _copy(copy, _options(cluster, secret), source, transport, progress)


def _stored_replica_id(path, cluster, secret):
    """Of a database that is not open. No Database, which a signal could leave open."""
    opened, undo = _Held(), _Undo()
    undo.free(library.rocksync_close, opened, None)
    undo_all = undo.steps()
    try:
        with _beginning.enter(), _options(cluster, secret) as (options, replication):
            library.rocksdb_options_set_create_if_missing(options, False)
            opened.take_from("rocksync_open", options, replication, _path(path))
        return library.rocksync_replica_id(opened[0])
    finally:
        undo_all()


def _several(addresses):
    """A string would be taken for as many addresses as it has letters."""
    if isinstance(addresses, (str, bytes)):
        raise TypeError(f"addresses are a list, such as [{addresses!r}], not {addresses!r}")
    return addresses


def _callable(name, given):
    if given is not None and not callable(given):
        raise TypeError(f"{name} is to be called, and is {given!r}")
    return given


# As rocksync/c.h numbers them.
_STAGES = ("asking", "copying", "opening", "proving", "carrying over")


def _copy(copy, options, source, transport, progress):
    """Calls `copy`, a clone or resync, with the options for it. What `progress`
    raises is raised in the end, since it cannot pass through C, and in the last
    stages nothing else may fail."""
    failed = []
    _callable("progress", progress)

    def tell(_, stage, done, size):
        try:
            return not _beginning.is_over and (progress is None or progress(_STAGES[stage], done, size) is not False)
        except BaseException as error:
            failed.append(error)
            return False

    try:
        with _beginning.enter(), options as (of_database, replication), _clone_options(source, transport, CLONE(tell)) as given:
            copied = copy(of_database, replication, given)
    except Error:
        if failed:
            raise failed[0]
        raise
    if failed:
        raise failed[0]
    return copied


@contextlib.contextmanager
def _clone_options(source, transport, tell):
    with transport as opened:
        given = _Held()  # which holds the transport
        destroy = given.freeing(library.rocksync_clone_options_destroy)
        try:
            given.take(library.rocksync_clone_options_create, opened, _text(source, "source"))
            library.rocksync_clone_options_set_progress(given[0], None, tell)
            with interrupts(lambda: library.rocksync_clone_options_cancel(given[0])):
                yield given[0]
        finally:
            destroy()


# A change that came from a peer: of `value` None the key is deleted; `time_ms`
# (since 1970) and `replica_id` say when and where it was written; `replaces`,
# whether this replica knew the key, and `replaced_deleted`, `replaced_time_ms`
# and `replaced_replica_id`, what it knew.
_CHANGE = "time_ms replica_id replaces replaced_deleted replaced_time_ms replaced_replica_id"
Change = collections.namedtuple("Change", f"family key value {_CHANGE}")

# The same in a ChangeFeed, which has no values: `deleted`, or written.
# `source_id`: the id of the peer that sent it, which need not have written it.
FeedChange = collections.namedtuple("FeedChange", f"family key deleted {_CHANGE} source_id")


def _changes(changes):
    return [
        Change(read_bytes("rocksync_changes_family", changes, i).decode(errors="replace"),
               read_bytes("rocksync_changes_key", changes, i), read_bytes("rocksync_changes_value", changes, i),
               library.rocksync_changes_time_ms(changes, i), library.rocksync_changes_replica_id(changes, i),
               bool(library.rocksync_changes_replaces(changes, i)),
               bool(library.rocksync_changes_replaced_tombstone(changes, i)),
               library.rocksync_changes_replaced_time_ms(changes, i),
               library.rocksync_changes_replaced_replica_id(changes, i))
        for i in range(library.rocksync_changes_count(changes))
    ]


def _bytes(*texts):
    # A class derived from it may say another length than it has.
    for text in texts:
        if not isinstance(text, bytes) or len(text) != bytes.__len__(text):
            raise TypeError(f"keys and values are bytes, not {type(text).__name__}")


def _text(text, name):
    """As C takes it; a zero byte would end it early."""
    try:
        encoded = os.fsencode(text)
    except TypeError:
        raise TypeError(f"{name} is a string, bytes or a path, not {text!r}") from None
    if b"\0" in encoded:
        raise ValueError(f"a zero byte in {name}, {text!r}")
    return encoded


def _path(path):
    """Of a database, as C takes it."""
    encoded = _text(path, "path")
    if not encoded:
        raise ValueError("path is empty; give the directory of the database")
    return encoded


def _flag(flag, name):
    """As C takes it; any string would be true."""
    if not isinstance(flag, bool):
        raise TypeError(f"{name} is True or False, not {flag!r}")
    return flag


def _number(number, name, least=0):
    """As C takes it; ctypes would cut it to 64 bits."""
    if not least <= operator.index(number) < 1 << 64:
        raise ValueError(f"{name} {number} is not between {least} and 2**64 - 1")
    return number


def _milliseconds(seconds, name):
    """Rounded up, as 0 has a meaning of its own."""
    if not isinstance(seconds, numbers.Real):
        raise TypeError(f"{name} is a number of seconds, not {seconds!r}")
    if not 0 <= seconds < 1 << 50:
        raise ValueError(f"{name} of {seconds} seconds")
    return math.ceil(seconds * 1000)


@contextlib.contextmanager
def _options(cluster, secret):
    """RocksDB's options and those of replication."""
    options, replication = library.rocksdb_options_create(), library.rocksync_options_create()
    try:
        library.rocksync_options_set_cluster_name(replication, _text(cluster, "cluster"))
        if isinstance(secret, (bytes, bytearray)):
            call("rocksync_options_set_cluster_secret", replication, bytes(secret), len(secret))
        else:
            call("rocksync_options_read_cluster_secret", replication, _text(secret, "secret"))
        yield options, replication
    finally:
        library.rocksync_options_destroy(replication)
        library.rocksdb_options_destroy(options)


@contextlib.contextmanager
def _transport(replica_id, certificates, ca, certificate, private_key):
    if certificates is not None:
        if not (ca is certificate is private_key is None):
            raise Error("give certificates, for trials, or ca, certificate and private_key, not both")
        paths = [ctypes.c_void_p() for _ in range(3)]
        call("rocksync_make_trial_certificate", _text(certificates, "certificates"), replica_id,
             *(ctypes.byref(path) for path in paths))
        ca, certificate, private_key = (take_text(path.value) for path in paths)
    elif None in (ca, certificate, private_key):
        raise Error("give certificates, or ca, certificate and private_key")
    transport = _Held()
    destroy = transport.freeing(library.rocksync_transport_destroy)
    try:
        transport.take_from("rocksync_tls_transport_create", _text(ca, "ca"), _text(certificate, "certificate"),
                            _text(private_key, "private_key"))
        yield transport[0]
    finally:
        destroy()


class _Held(list):
    """One object of the library, or none. What a signal raises comes before
    it is made or after it is held, and so at its end."""

    __hash__ = object.__hash__

    def take_from(self, name, *arguments):
        """As `call`."""
        error = ctypes.c_void_p()
        self.take(getattr(library, name), *arguments, ctypes.byref(error))
        if error.value:
            self.clear()
            raise Error(take_text(error.value))

    def take(self, make, *arguments):
        self.extend(map(make, *([each] for each in arguments)))

    def give_back(self, destroy):
        if self:
            any(map(destroy, map(self.pop, [0])))

    def freeing(self, free):
        """A function to be called once, as the only step of a `finally`: it
        frees what is held by then. No signal comes between."""
        return functools.partial(any, map(free, self))


class _Undo(list):
    """Steps, functions without arguments, that undo what was begun; none of
    them once the list is cleared, as all is done."""

    def steps(self):
        """A function to be called once, as the only step of a `finally`. No
        signal comes between, be it the second one."""
        return functools.partial(any, map(functools.partial.__call__, self))

    def free(self, destroy, held, *arguments):
        """A step that has to be the last, if `destroy` returns what is true."""
        self.append(functools.partial(any, map(destroy, filter(None, held), *([each] for each in arguments))))

    def discard(self, objects, one):
        self.append(functools.partial(objects.discard, one))


class _Items(collections.abc.ItemsView):
    def __iter__(self):
        return self._mapping.scan()


class _Values(collections.abc.ValuesView):
    def __iter__(self):
        return (value for _, value in self._mapping.scan())

    def __contains__(self, value):
        return any(each == value for each in self)


class _Closable:
    """What holds an object of the library: one holder closes it once."""

    def __enter__(self):
        with self._calls.enter():  # Error, if it is closed
            return self

    def __exit__(self, *_):
        self.close()

    def __reduce_ex__(self, protocol):
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled")


class Database(_Closable, collections.abc.MutableMapping):
    """A dict of bytes, in the order of keys. Iteration sees the pairs of the
    moment at which it began. len() reads all keys, and so does list(), which
    asks for the length first; scan() reads them once. Two of them are equal if
    they are one object: compare dict(a) with dict(b), or call
    Replicator.verify.

    It is open until close(), the end of its `with`, which closes its
    replicators first, or the end of the program, also when nothing refers to it
    any more."""

    def __init__(self, path, cluster, secret, create, open_copy_as_new_replica, apply_hook):
        self._db = self._way = None
        self._calls = Calls("database")
        self._replicators = set()
        self._iterations = set()  # under way; each holds RocksDB's iterator
        self._iterating = threading.RLock()  # while it makes or ends one

        _callable("apply_hook", apply_hook)

        def hook(_, changes):
            with self._calls.inside(), printed():
                apply_hook(_changes(changes))

        self._hook = BEFORE_APPLY(hook)  # lives as long as the database
        # RocksDB goes on to open files there, wherever the process is by then.
        absolute = os.path.abspath(_path(path))
        opened, way, undo = _Held(), _Held(), _Undo()
        undo.discard(_open_databases, self)
        undo.free(library.rocksdb_close, way)  # nothing of it may be held
        undo.free(library.rocksync_close, opened, None)
        undo_all = undo.steps()
        try:
            self._open(opened, way, absolute, _options(cluster, secret), _flag(create, "create"),
                       _flag(open_copy_as_new_replica, "open_copy_as_new_replica"), apply_hook is not None)
            _open_databases.add(self)
            undo.clear()
        finally:
            undo_all()

    def _open(self, opened, way, absolute, given, create, open_copy_as_new_replica, has_hook):
        with given as (options, replication):
            library.rocksdb_options_set_create_if_missing(options, create)
            library.rocksync_options_set_open_copy_as_new_replica(replication, open_copy_as_new_replica)
            if has_hook:
                library.rocksync_options_set_apply_hook(replication, None, NO_DESTRUCTOR, self._hook)
            opened.take_from("rocksync_open", options, replication, absolute)
        way.take_from("rocksync_rocksdb", opened[0])
        self._way = way[0]
        self._read = library.rocksdb_readoptions_create()
        self._write = library.rocksdb_writeoptions_create()
        self._db = opened[0]

    # --- Pairs ---

    def __getitem__(self, key):
        _bytes(key)
        size, found = ctypes.c_size_t(), _Held()
        free = found.freeing(library.rocksdb_free)
        try:
            with self._calls.enter():
                found.take_from("rocksdb_get", self._way, self._read, key, len(key), ctypes.byref(size))
            if found[0] is None:
                raise KeyError(key)
            return ctypes.string_at(found[0], size.value)
        finally:
            free()

    def __setitem__(self, key, value):
        _bytes(key, value)
        with self._calls.enter():
            call("rocksdb_put", self._way, self._write, key, len(key), value, len(value))

    def __delitem__(self, key):
        """Deletes the key, whether it is there or not: what is not there is
        not read first, unlike a dict's."""
        _bytes(key)
        with self._calls.enter():
            call("rocksdb_delete", self._way, self._write, key, len(key))

    def __iter__(self):
        return (key for key, _ in self.scan())

    def __len__(self):
        return sum(1 for _ in self.scan())

    def __repr__(self):
        if self._db is None:
            return "<rocksync.Database, closed>"
        try:
            return f"<rocksync.Database {self.replica_id:016x}>"
        except Error:  # of another process, or as another thread closes it
            return "<rocksync.Database>"

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__

    def items(self):
        """Pairs, in the order of keys."""
        return _Items(self)

    def values(self):
        """Values, in the order of keys."""
        return _Values(self)

    def scan(self, begin=b"", end=None):
        """Yields pairs with begin <= key, and key < end if it is given."""
        _bytes(begin, *([] if end is None else [end]))
        held = _Held()
        pairs = self._pairs_of(held, end)
        # Of a generator that nobody ever asks for a pair, no line runs; of one
        # whose end is interrupted, not all.
        held.finalizer = weakref.finalize(pairs, self._end_iteration, held)
        held.finalizer.atexit = False
        with self._calls.enter(), self._iterating:
            self._iterations.add(held)
            held.take(library.rocksdb_create_iterator, self._way, self._read)
            library.rocksdb_iter_seek(held[0], begin, len(begin))
        return pairs

    def _pairs_of(self, held, end):
        size = ctypes.c_size_t()
        try:
            while True:
                with self._calls.enter():
                    if not held:
                        raise Error("the database was closed during an iteration")
                    iterator = held[0]
                    if not library.rocksdb_iter_valid(iterator):
                        call("rocksdb_iter_get_error", iterator)
                        return
                    key = ctypes.string_at(library.rocksdb_iter_key(iterator, ctypes.byref(size)), size.value)
                    if end is not None and key >= end:
                        return
                    value = ctypes.string_at(library.rocksdb_iter_value(iterator, ctypes.byref(size)), size.value)
                    library.rocksdb_iter_next(iterator)
                yield key, value
        finally:
            self._end_iteration(held)
            held.finalizer.detach()

    def _end_iteration(self, held):
        # Close ends those that are under way.
        with contextlib.suppress(Error), self._calls.enter(), self._iterating:
            held.give_back(library.rocksdb_iter_destroy)
            self._iterations.discard(held)

    def clear(self):
        """Deletes the keys of the moment at which it began, a thousand in a
        batch."""
        keys = iter(self)
        while batch := list(itertools.islice(keys, 1000)):
            self.write(deletes=batch)

    def write(self, puts=(), deletes=()):
        """Writes pairs and deletes keys in one atomic batch. `puts`: a mapping
        or pairs."""
        batch = library.rocksdb_writebatch_create()
        try:
            for key, value in puts.items() if hasattr(puts, "items") else puts:
                _bytes(key, value)
                library.rocksdb_writebatch_put(batch, key, len(key), value, len(value))
            for key in deletes:
                _bytes(key)
                library.rocksdb_writebatch_delete(batch, key, len(key))
            with self._calls.enter():
                call("rocksdb_write", self._way, self._write, batch)
        finally:
            library.rocksdb_writebatch_destroy(batch)

    def update_key(self, key, change):
        """ReplicatedDB::Update of one key (update() is a dict's): writes what
        change(value) returns, while no other thread and no session with a peer
        writes the key. None is a key that is not there, and deletes one that
        is. `change` must not write to the database, and be quick. If it raises,
        nothing is written."""
        return self.update_keys([key], lambda values: [change(values[0])])[0]

    def update_keys(self, keys, change):
        """The same for several keys at once: change(values) returns as many
        values as there are keys. Returns them."""
        _bytes(*keys)
        failed, after = [], []

        def changed(_, values):
            try:
                after[:] = change([read_bytes("rocksync_values_get", values, i) for i in range(len(keys))])
                if len(after) != len(keys):
                    raise ValueError(f"{len(after)} values for {len(keys)} keys")
                _bytes(*(value for value in after if value is not None))
                for i, value in enumerate(after):
                    library.rocksync_values_set(values, i, value, len(value or b""))
                return 1
            except BaseException as error:  # does not pass through C
                failed.append(error)
                return 0

        try:
            with self._calls.enter(), interrupts():
                call("rocksync_update", self._db, self._write, len(keys), None, (ctypes.c_char_p * len(keys))(*keys),
                     (ctypes.c_size_t * len(keys))(*map(len, keys)), None, CHANGE(changed))
        except Error:
            if failed:
                raise failed[0]
            raise
        return after

    # --- Replication ---

    @property
    def replica_id(self):
        """What a certificate of the replica names, there as 16 hex digits: an
        int, f"{id:016x}"."""
        with self._calls.enter():
            return library.rocksync_replica_id(self._db)

    def wait_for_index_build(self, timeout=60.0):
        """Waits until a database that was plain has been read."""
        with self._calls.enter():
            call("rocksync_wait_for_index_build", self._db, _milliseconds(timeout, "a timeout"))

    @property
    def index_build_percent(self):
        """How far that reading is; 100.0 once it is done."""
        with self._calls.enter():
            return library.rocksync_index_build_percent(self._db)

    def set_members(self, epoch, replica_ids):
        """Sets the list of all replicas of the cluster, on one of them; others
        take it over. Without a list tombstones are kept permanently. `epoch`
        must be greater than that of the list before; the first is 1."""
        ids = [_number(id, "replica id", least=1) for id in replica_ids]
        with self._calls.enter():
            call("rocksync_set_members", self._db, _number(epoch, "epoch"), (ctypes.c_uint64 * len(ids))(*ids), len(ids))

    def collect_tombstones(self):
        """Collects those that all members hold, without waiting until they are 1
        in 50 of all elements."""
        with self._calls.enter():
            call("rocksync_collect_tombstones", self._db)

    def subscribe(self, *, buffer_bytes=1 << 20):
        """A ChangeFeed of what peers change from now on, for which so many bytes
        of memory are kept, at least 4096. Close it, or use `with`."""
        with self._calls.enter():
            return ChangeFeed(self, buffer_bytes)

    def replicate(self, *, peers=(), listen="", interval=10.0, stream=True, zone="", allow_clones=True,
                  max_peers_per_interval=8, max_stream_peers=8, max_accepted=64, progress=None,
                  certificates=None, ca=None, certificate=None, private_key=None):
        """Starts a replicator: sessions with each of `peers` (host:port) about
        every `interval` seconds, and between them what is written travels by
        streams, unless `stream` is false. An interval of 0: only by sync, and
        no streams. Peers connect to `listen`. `certificates` names a directory for trials; else the three
        PEM files. Who asks for a clone is refused if `allow_clones` is false.
        With more peers than `max_peers_per_interval`, sessions with only so
        many of them in each interval, in turns; with more than
        `max_stream_peers`, streams to so many of them, which pass on what
        comes; 0: all. At most
        `max_accepted` connections that others open to here are kept.
        `progress` is called with a dict that tells of a session, on
        a thread of the library's, while it runs and when it ends."""
        with self._calls.enter():
            return Replicator(self, peers, listen, interval, stream, zone, allow_clones,
                              {"max_peers_per_interval": max_peers_per_interval, "max_stream_peers": max_stream_peers,
                               "max_accepted": max_accepted},
                              progress, (certificates, ca, certificate, private_key))

    @property
    def rocksdb(self):
        """The address of the rocksdb_t, for what of rocksdb/c.h the package
        lacks; until close, which does not wait for such calls."""
        with self._calls.enter():
            return self._way

    @property
    def handle(self):
        """The same of the rocksync_t and rocksync/c.h."""
        with self._calls.enter():
            return self._db

    # --- The end ---

    def __exit__(self, *_):
        for replicator in list(self._replicators):
            replicator.close()
        self.close()

    def _check_close(self):
        if self._replicators:
            raise Error(f"{len(self._replicators)} replicator(s) of the database still run; close them first")
        with self._iterating:
            call("rocksync_check_close", self._db, 1, sum(map(len, list(self._iterations))))

    def close(self):
        """Waits for calls of other threads, and closes the database.
        Replicators must be closed before; iterations end. Where it is refused,
        nothing has changed, for other threads and iterations neither."""
        self._calls.close(self._close_it, check=self._check_close)

    def _close_it(self, closed):
        self._check_close()  # what came about meanwhile
        for held in self._iterations:
            held.give_back(library.rocksdb_iter_destroy)
        self._iterations.clear()
        library.rocksdb_close(self._way)
        error = ctypes.c_void_p()
        if library.rocksync_close(self._db, ctypes.byref(error)):
            closed.append(True)
            library.rocksdb_writeoptions_destroy(self._write)
            library.rocksdb_readoptions_destroy(self._read)
            self._db = self._way = None
            _open_databases.discard(self)
        else:
            self._way = call("rocksync_rocksdb", self._db)  # as open as before
        if error.value:
            raise Error(take_text(error.value))


class ChangeFeed(_Closable):
    """What peers change in a database, from Database.subscribe on. Sessions and
    streams do not wait for its reader: what does not fit its buffer is counted
    and left out. It may be closed after its database."""

    def __init__(self, database, buffer_bytes):
        self._feed = None
        self._calls = Calls("change feed")
        self._lock, self._reading = threading.RLock(), Tokens()  # it is for one thread at a time
        begun = _Held()
        try:
            begun.take_from("rocksync_subscribe", database._db, _number(buffer_bytes, "buffer_bytes"))
            self._feed = begun[0]
        except BaseException:
            if begun and self._feed is None:
                library.rocksync_change_feed_destroy(begun[0])
            raise

    def next(self, timeout=1.0):
        """Waits until there are changes, at most `timeout` seconds, and returns
        all there are: (a list of FeedChange, how many more came behind them for
        which there was no room). ([], 0): none came, or another thread's call
        waited all the time. Error, once the database is closed and all was
        returned."""
        until = time.monotonic() + _milliseconds(timeout, "a timeout") / 1000
        with self._calls.enter():
            reading = Token()
            try:
                return self._await(until) if self._begin_reading(reading, until) else ([], 0)
            finally:
                reading.close()

    def _begin_reading(self, reading, until):
        """False: another thread's call waits all the time."""
        while True:
            with self._lock:
                if not self._reading:
                    self._reading.note(reading)
                    return True
            left = until - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(left, 0.005))

    def _await(self, until):
        while True:
            # In slices: between them it ends by a signal, or as the feed is
            # being closed.
            self._calls.refuse_closing()
            left = max(until - time.monotonic(), 0)
            found = self._fetch(min(left, self._SLICE))
            if any(found) or left <= self._SLICE:
                return found

    _SLICE = 0.1  # seconds

    def _fetch(self, timeout):
        missed = ctypes.c_uint64()
        changes = call("rocksync_change_feed_next", self._feed, _milliseconds(timeout, "a timeout"),
                       ctypes.byref(missed))
        told = [FeedChange(*each[:2], each.value is None, *each[3:], library.rocksync_changes_source_id(changes, i))
                for i, each in enumerate(_changes(changes))]
        return told, missed.value

    def close(self):
        """Calls of `next` that wait for changes end with an Error."""
        self._calls.close(self._destroy)

    def _destroy(self, closed):
        library.rocksync_change_feed_destroy(self._feed)
        self._feed = None
        closed.append(True)


class Verification:
    """What Replicator.verify found. `differences`: (kind, family, key), the
    kind being "missing_here", "missing_there", "version" or "content".
    `stats`: a dict, as the last line of `rocksync verify --json`."""

    KINDS = ("missing_here", "missing_there", "version", "content")

    def __init__(self, equal, differences, stats):
        self.equal = equal
        self.differences = differences
        self.stats = stats

    def __repr__(self):
        return "<equal>" if self.equal else f"<different, {len(self.differences)} keys told>"


class Replicator(_Closable):
    """Keeps a database equal to its peers until it is closed."""

    def __init__(self, database, peers, listen, interval, stream, zone, allow_clones, numbers, progress, credentials):
        self._database, self._replicator = database, None
        self._calls = Calls("replicator")
        _callable("progress", progress)

        def tell(_, session):
            with self._calls.inside():
                progress(json.loads(session))

        self._progress = SESSION(tell)  # lives as long as the replicator
        started, undo = _Held(), _Undo()
        undo.discard(database._replicators, self)
        undo.discard(_open_replicators, self)
        undo.free(library.rocksync_replicator_destroy, started)
        undo_all = undo.steps()
        try:
            self._start(started, peers, listen, interval, stream, zone, allow_clones, numbers, progress, credentials)
            database._replicators.add(self)
            _open_replicators.add(self)
            undo.clear()
        finally:
            undo_all()

    def _start(self, started, peers, listen, interval, stream, zone, allow_clones, numbers, progress, credentials):
        options = library.rocksync_replicator_options_create()
        try:
            for peer in _several(peers):
                library.rocksync_replicator_options_add_peer(options, _text(peer, "peer"))
            library.rocksync_replicator_options_set_listen_address(options, _text(listen, "listen"))
            library.rocksync_replicator_options_set_interval_ms(options, _milliseconds(interval, "an interval"))
            library.rocksync_replicator_options_set_stream(options, _flag(stream, "stream"))
            library.rocksync_replicator_options_set_allow_clones(options, _flag(allow_clones, "allow_clones"))
            library.rocksync_replicator_options_set_zone(options, _text(zone, "zone"))
            for name, number in numbers.items():
                getattr(library, f"rocksync_replicator_options_set_{name}")(options, _number(number, name))
            if progress is not None:
                library.rocksync_replicator_options_set_progress(options, None, self._progress)
            with _transport(self._database.replica_id, *credentials) as transport:
                started.take_from("rocksync_replicator_start", self._database._db, options, transport)
            self._replicator = started[0]
        finally:
            library.rocksync_replicator_options_destroy(options)

    def sync(self, peer):
        """Sessions with `peer` until the two are proven equal. An Error that
        begins with "Operation failed. Try again." or "Resource busy" passes by
        itself, but for a replicator that is paused; "Result incomplete" does
        not, unless it names quarantined pairs alone. What `progress`, or
        a signal's handler, raises meanwhile in the main thread is raised at the
        end; what `progress` raises in another thread is printed. A peer that is
        paused makes it wait for 30 s before "Resource busy", and so long waits
        what is raised; `close` in another thread ends it at once."""
        with self._calls.enter(), interrupts():
            call("rocksync_replicator_sync", self._replicator, _text(peer, "peer"))

    def verify(self, peer, *, max_keys=1000, wait=15.0):
        """Compares with `peer` and ships nothing: a Verification. Waits up to
        `wait` seconds for writes under way to arrive, and for its looks besides;
        a peer that is paused, or busy with a long session, makes it wait for 30 s
        before "Resource busy". What a signal's handler raises
        meanwhile in the main thread is raised at the end."""
        differences = []

        def differs(_, kind, family, family_size, key, key_size):
            differences.append((Verification.KINDS[kind], ctypes.string_at(family, family_size).decode(),
                                ctypes.string_at(key, key_size)))

        result = ctypes.c_void_p()
        try:
            with self._calls.enter(), interrupts():
                equal = call("rocksync_replicator_verify", self._replicator, _text(peer, "peer"),
                             _number(max_keys, "max_keys"), _milliseconds(wait, "a wait"), None, DIFFERS(differs),
                             ctypes.byref(result))
        finally:
            stats = take_text(result.value) if result.value else "{}"
        return Verification(bool(equal), differences, json.loads(stats))

    def scrub(self):
        """Compares all stored values with the index."""
        with self._calls.enter():
            call("rocksync_replicator_scrub", self._replicator)

    def set_peers(self, peers):
        """From now on these addresses are the peers; sessions and streams with new
        ones begin at once."""
        texts = [_text(peer, "peer") for peer in _several(peers)]
        with self._calls.enter():
            call("rocksync_replicator_set_peers", self._replicator, (ctypes.c_char_p * len(texts))(*texts), len(texts))

    def pause(self):
        """No session begins, and streams are closed, until `resume`. A session
        that runs goes on."""
        with self._calls.enter():
            library.rocksync_replicator_pause(self._replicator)

    def resume(self):
        with self._calls.enter():
            library.rocksync_replicator_resume(self._replicator)

    @property
    def listen_address(self):
        with self._calls.enter():
            return take_text(library.rocksync_replicator_listen_address(self._replicator))

    @property
    def stats(self):
        """A dict, as `rocksync status --json` has it."""
        with self._calls.enter():
            return json.loads(take_text(library.rocksync_replicator_stats_json(self._replicator)))

    @property
    def handle(self):
        """The address of the rocksync_replicator_t, as Database.handle."""
        with self._calls.enter():
            return self._replicator

    def close(self):
        """Ends sessions, streams, and calls of other threads."""
        # It would wait for what an apply hook, or the function of update_key, holds up.
        self._database._calls.refuse_inside("close of the replicator")
        self._calls.close(self._destroy, stop=lambda: library.rocksync_replicator_stop(self._replicator))

    def _destroy(self, closed):
        library.rocksync_replicator_destroy(self._replicator)
        self._replicator = None
        _open_replicators.discard(self)
        self._database._replicators.discard(self)
        closed.append(True)

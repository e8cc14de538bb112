"""The C functions of librocksync and librocksdb that the package calls."""

import ctypes
import ctypes.util
import os


class Error(Exception):
    """An error of the library or of RocksDB, in its words."""


def _load():
    name = os.environ.get("ROCKSYNC_LIBRARY") or "librocksync.so.0"
    try:
        # RocksDB's functions are found through it: it is linked with RocksDB,
        # and any other copy of RocksDB would not do.
        loaded = ctypes.CDLL(name)
        loaded.rocksync_open  # noqa: B018
        return loaded
    except (AttributeError, OSError) as error:
        remedy = "install librocksync0, or set ROCKSYNC_LIBRARY to its file"
        if "librocksdb" in str(error):
            remedy = "set LD_LIBRARY_PATH to the folder of the RocksDB that it was built with"
        raise ImportError(f"cannot load {name}: {error}; {remedy}") from error


library = _load()

_ERROR = ctypes.POINTER(ctypes.c_void_p)
_P, _S, _Z, _U = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64

DIFFERS = ctypes.CFUNCTYPE(None, _P, ctypes.c_int, _P, _Z, _P, _Z)
BEFORE_APPLY = ctypes.CFUNCTYPE(None, _P, _P)
CHANGE = ctypes.CFUNCTYPE(ctypes.c_ubyte, _P, _P)
SESSION = ctypes.CFUNCTYPE(None, _P, _S)
CLONE = ctypes.CFUNCTYPE(ctypes.c_ubyte, _P, ctypes.c_int, _U, _U)
# Not called.
NO_DESTRUCTOR = ctypes.CFUNCTYPE(None, _P)()

# name: (result, arguments without errptr, whether an errptr comes last)
_FUNCTIONS = {
    "rocksdb_options_create": (_P, [], False),
    "rocksdb_options_destroy": (None, [_P], False),
    "rocksdb_options_set_create_if_missing": (None, [_P, ctypes.c_ubyte], False),
    "rocksdb_readoptions_create": (_P, [], False),
    "rocksdb_readoptions_destroy": (None, [_P], False),
    "rocksdb_writeoptions_create": (_P, [], False),
    "rocksdb_writeoptions_destroy": (None, [_P], False),
    "rocksdb_writeoptions_set_sync": (None, [_P, ctypes.c_ubyte], False),
    "rocksdb_close": (None, [_P], False),
    "rocksdb_free": (None, [_P], False),
    "rocksdb_get": (_P, [_P, _P, _S, _Z, ctypes.POINTER(_Z)], True),
    "rocksdb_put": (None, [_P, _P, _S, _Z, _S, _Z], True),
    "rocksdb_delete": (None, [_P, _P, _S, _Z], True),
    "rocksdb_write": (None, [_P, _P, _P], True),
    "rocksdb_writebatch_create": (_P, [], False),
    "rocksdb_writebatch_destroy": (None, [_P], False),
    "rocksdb_writebatch_put": (None, [_P, _S, _Z, _S, _Z], False),
    "rocksdb_writebatch_delete": (None, [_P, _S, _Z], False),
    "rocksdb_create_iterator": (_P, [_P, _P], False),
    "rocksdb_iter_destroy": (None, [_P], False),
    "rocksdb_iter_valid": (ctypes.c_ubyte, [_P], False),
    "rocksdb_iter_seek": (None, [_P, _S, _Z], False),
    "rocksdb_iter_next": (None, [_P], False),
    "rocksdb_iter_key": (_P, [_P, ctypes.POINTER(_Z)], False),
    "rocksdb_iter_value": (_P, [_P, ctypes.POINTER(_Z)], False),
    "rocksdb_iter_get_error": (None, [_P], True),
    "rocksync_free": (None, [_P], False),
    "rocksync_version": (_S, [], False),
    "rocksync_options_create": (_P, [], False),
    "rocksync_options_destroy": (None, [_P], False),
    "rocksync_options_set_cluster_name": (None, [_P, _S], False),
    "rocksync_options_set_cluster_secret": (None, [_P, _S, _Z], True),
    "rocksync_options_read_cluster_secret": (None, [_P, _S], True),
    "rocksync_options_set_open_copy_as_new_replica": (None, [_P, ctypes.c_ubyte], False),
    "rocksync_open": (_P, [_P, _P, _S], True),
    "rocksync_check_close": (ctypes.c_ubyte, [_P, _Z, _Z], True),
    "rocksync_close": (ctypes.c_ubyte, [_P], True),
    "rocksync_rocksdb": (_P, [_P], True),
    "rocksync_options_set_apply_hook": (None, [_P, _P, type(NO_DESTRUCTOR), BEFORE_APPLY], False),
    "rocksync_changes_count": (_Z, [_P], False),
    "rocksync_changes_family": (_P, [_P, _Z, ctypes.POINTER(_Z)], False),
    "rocksync_changes_key": (_P, [_P, _Z, ctypes.POINTER(_Z)], False),
    "rocksync_changes_value": (_P, [_P, _Z, ctypes.POINTER(_Z)], False),
    "rocksync_changes_time_ms": (_U, [_P, _Z], False),
    "rocksync_changes_replica_id": (_U, [_P, _Z], False),
    "rocksync_changes_replaces": (ctypes.c_ubyte, [_P, _Z], False),
    "rocksync_changes_replaced_tombstone": (ctypes.c_ubyte, [_P, _Z], False),
    "rocksync_changes_replaced_time_ms": (_U, [_P, _Z], False),
    "rocksync_changes_replaced_replica_id": (_U, [_P, _Z], False),
    "rocksync_changes_source_id": (_U, [_P, _Z], False),
    "rocksync_subscribe": (_P, [_P, _Z], True),
    "rocksync_change_feed_next": (_P, [_P, _U, ctypes.POINTER(_U)], True),
    "rocksync_change_feed_destroy": (None, [_P], False),
    "rocksync_update": (None, [_P, _P, _Z, _P, ctypes.POINTER(_S), ctypes.POINTER(_Z), _P, CHANGE], True),
    "rocksync_values_get": (_P, [_P, _Z, ctypes.POINTER(_Z)], False),
    "rocksync_values_set": (None, [_P, _Z, _S, _Z], False),
    "rocksync_index_build_percent": (ctypes.c_double, [_P], False),
    "rocksync_replica_id": (_U, [_P], False),
    "rocksync_wait_for_index_build": (None, [_P, _U], True),
    "rocksync_collect_tombstones": (None, [_P], True),
    "rocksync_detach": (None, [_P, _S, ctypes.c_int, _P, _P], True),
    "rocksync_set_members": (None, [_P, _U, ctypes.POINTER(_U), _Z], True),
    "rocksync_make_trial_certificate": (
        None,
        [_S, _U, _ERROR, _ERROR, _ERROR],
        True,
    ),
    "rocksync_tls_transport_create": (_P, [_S, _S, _S], True),
    "rocksync_transport_destroy": (None, [_P], False),
    "rocksync_replicator_options_create": (_P, [], False),
    "rocksync_replicator_options_destroy": (None, [_P], False),
    "rocksync_replicator_options_add_peer": (None, [_P, _S], False),
    "rocksync_replicator_options_set_listen_address": (None, [_P, _S], False),
    "rocksync_replicator_options_set_interval_ms": (None, [_P, _U], False),
    "rocksync_replicator_options_set_max_peers_per_interval": (None, [_P, _Z], False),
    "rocksync_replicator_options_set_max_accepted": (None, [_P, _Z], False),
    "rocksync_replicator_options_set_stream": (None, [_P, ctypes.c_ubyte], False),
    "rocksync_replicator_options_set_max_stream_peers": (None, [_P, _Z], False),
    "rocksync_replicator_options_set_allow_clones": (None, [_P, ctypes.c_ubyte], False),
    "rocksync_replicator_options_set_zone": (None, [_P, _S], False),
    "rocksync_replicator_options_set_progress": (None, [_P, _P, SESSION], False),
    "rocksync_replicator_start": (_P, [_P, _P, _P], True),
    "rocksync_replicator_stop": (None, [_P], False),
    "rocksync_replicator_destroy": (None, [_P], False),
    "rocksync_replicator_sync": (None, [_P, _S], True),
    "rocksync_replicator_verify": (ctypes.c_ubyte, [_P, _S, _U, _U, _P, DIFFERS, _ERROR], True),
    "rocksync_replicator_scrub": (None, [_P], True),
    "rocksync_replicator_set_peers": (None, [_P, ctypes.POINTER(_S), _Z], True),
    "rocksync_replicator_pause": (None, [_P], False),
    "rocksync_replicator_resume": (None, [_P], False),
    "rocksync_replicator_listen_address": (_P, [_P], False),
    "rocksync_replicator_stats_json": (_P, [_P], False),
    "rocksync_clone_options_create": (_P, [_P, _S], False),
    "rocksync_clone_options_destroy": (None, [_P], False),
    "rocksync_clone_options_cancel": (None, [_P], False),
    "rocksync_clone_options_set_progress": (None, [_P, _P, CLONE], False),
    "rocksync_clone_replica_id": (_U, [_S], True),
    "rocksync_clone": (ctypes.c_ubyte, [_P, _P, _S, ctypes.c_int, _P, _P, _P, _ERROR], True),
    "rocksync_resync": (ctypes.c_ubyte, [_P, _P, _S, ctypes.c_int, _P, _P, _P, ctypes.c_double, _P, _ERROR], True),
}

for _name, (_result, _arguments, _fails) in _FUNCTIONS.items():
    _function = getattr(library, _name)
    _function.restype = _result
    _function.argtypes = _arguments + ([_ERROR] if _fails else [])


def take_text(pointer):
    """Text that a call returned, which is freed."""
    text = ctypes.string_at(pointer)
    library.rocksync_free(pointer)
    return text.decode(errors="replace")


def read_bytes(name, *arguments):
    """What a function points to whose last argument is a size; None if it is
    NULL. Copied."""
    size = ctypes.c_size_t()
    pointer = getattr(library, name)(*arguments, ctypes.byref(size))
    return None if pointer is None else ctypes.string_at(pointer, size.value)


def call(name, *arguments):
    """Calls a function that has an errptr; raises Error."""
    error = ctypes.c_void_p()
    result = getattr(library, name)(*arguments, ctypes.byref(error))
    if error.value:
        raise Error(take_text(error.value))
    return result

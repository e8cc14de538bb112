"""The C functions of librocksync and librocksdb that the package calls."""

import ctypes
import ctypes.util
import os


class Error(Exception):
    """An error of the library or of RocksDB, in its words."""


def _load():
    name = os.environ.get("ROCKSYNC_LIBRARY", "librocksync.so.0")
    try:
        # RocksDB's functions are found through it: it is linked with RocksDB,
        # and any other copy of RocksDB would not do.
        return ctypes.CDLL(name)
    except OSError as error:
        raise ImportError(
            f"cannot load {name}: {error}; install librocksync0, or set "
            "ROCKSYNC_LIBRARY to its file"
        ) from error


library = _load()

_ERROR = ctypes.POINTER(ctypes.c_void_p)
_P, _S, _Z, _U = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64

DIFFERS = ctypes.CFUNCTYPE(None, _P, ctypes.c_int, _P, _Z, _P, _Z)

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
    "rocksync_close": (ctypes.c_ubyte, [_P], True),
    "rocksync_rocksdb": (_P, [_P], True),
    "rocksync_replica_id": (_U, [_P], False),
    "rocksync_wait_for_adoption": (None, [_P, _U], True),
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
    "rocksync_replicator_start": (_P, [_P, _P, _P], True),
    "rocksync_replicator_destroy": (None, [_P], False),
    "rocksync_replicator_sync": (None, [_P, _S], True),
    "rocksync_replicator_verify": (ctypes.c_ubyte, [_P, _S, _U, _U, _P, DIFFERS], True),
    "rocksync_replicator_scrub": (None, [_P], True),
    "rocksync_replicator_pause": (None, [_P], False),
    "rocksync_replicator_resume": (None, [_P], False),
    "rocksync_replicator_listen_address": (_P, [_P], False),
    "rocksync_replicator_statistics_json": (_P, [_P], False),
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


def call(name, *arguments):
    """Calls a function that has an errptr; raises Error."""
    error = ctypes.c_void_p()
    result = getattr(library, name)(*arguments, ctypes.byref(error))
    if error.value:
        raise Error(take_text(error.value))
    return result

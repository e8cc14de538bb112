/* The C interface: a replicated RocksDB database for programs and bindings that
   reach RocksDB by rocksdb/c.h. C99 and C++. Link librocksync.so and
   librocksdb.so: `pkg-config rocksync`, or of the CMake package rocksync the
   target rocksync::c (rocksync::rocksync is the C++ library). A whole program
   is examples/bindings/two_replicas.c, which librocksync-dev has in
   /usr/share/doc/librocksync-dev.

   The database itself is used by RocksDB's own C interface: rocksync_rocksdb
   gives a rocksdb_t* for rocksdb_put, rocksdb_get, rocksdb_write, iterators,
   and whatever else a binding calls. Options come as rocksdb_options_t*.

   What this relies on. RocksDB says of neither type what is inside. Objects of
   type rocksdb_t and rocksdb_column_family_handle_t are made and read by
   RocksDB's own C functions, whatever they look like. Only options are read
   directly, since no function gives them out: a rocksdb_options_t has to begin
   with a rocksdb::Options, as in all RocksDB from 5 to 11. The first opening
   tries all of it on objects of its own, and refuses with NotSupported if
   something is not as expected. What cannot be tried: the whole process must
   use the one RocksDB that librocksync.so is linked with. A binding that
   brings a RocksDB of its own (Rust's librocksdb-sys does unless
   ROCKSDB_LIB_DIR is set) must be told to use the system's.

   Conventions, as in rocksdb/c.h:
   - Errors are text in *errptr, which the caller sets to NULL before the call,
     and frees with rocksync_free. It begins with the kind of error, such as
     "Invalid argument: " or "Operation aborted: ". A call that fails returns
     NULL or 0. errptr itself may be NULL; then the error is lost. If
     memory runs out, the process ends.
   - A name, path or address is a C string. Keys have a length.
   - Text and arrays that a call returns are the caller's, for rocksync_free.
   - An object that a call takes as an option is copied or shared, and may be
     destroyed as soon as the call has returned.
   - NULL for an object or a name is an error with a message. Where there is no
     errptr, the call does nothing, and returns NULL or 0; destroying NULL does
     nothing. Only what is put into options is the empty text if it is NULL,
     and what uses the options judges that: an empty address of a peer, for
     example, is refused by rocksync_replicator_start.
   - Booleans are unsigned char, 0 or 1. Times are milliseconds.
   - A child of fork must not use what its parent opened: writes,
     rocksync_close, rocksync_rocksdb, rocksync_replicator_start and what waits
     for a replicator or changes it are refused there; to pause, stop or destroy
     one does nothing, and its statistics are NULL. It may exec, or leave by
     _exit: exit and the return from main wait for RocksDB's threads, which are
     not there, without end. A transport, too, is for the process that made
     it: make it after the fork. Calls of RocksDB's that go past rocksync
     (rocksdb_delete_file_in_range, rocksdb_cancel_all_background_work) are
     not refused, and harm the parent; so may destroying one of its iterators,
     which deletes tables that the iterator was the last to need.
   - Destroy the replicators, end the threads that use a database and close it
     before the process ends: exit and the return from main destroy what
     RocksDB needs while such a thread may still be in it.
   - A callback gets the `state` that was given with it. It must return: no
     longjmp, no exception. If it calls fork, the child must leave by exec or
     _exit: one that returns ends with a message, but from the function of
     rocksync_update, which is refused there. In RocksDB's own callbacks (a
     compaction filter, an event listener) nothing can end it: one that
     returns writes to its parent's files.

   What each option and call means, costs and refuses is said in the C++ headers
   (options.h, replicated_db.h, replicator.h, shared_listener.h,
   tls_transport.h).

   Handles of column families belong to the database, unlike those of
   rocksdb/c.h: rocksdb_column_family_handle_destroy must NOT be called on
   them, or rocksync_close ends the process. Those of dropped families may go
   before the database, see rocksync_column_family_handle_destroy.

   Order at the end: release what RocksDB's functions gave (iterators,
   snapshots, pinned slices), rocksdb_close each rocksdb_t, destroy the
   replicator, then rocksync_close. rocksync_close before its time is refused
   with an error that says what is still there; it may be called again. Pinned
   slices (rocksdb_get_pinned) alone are not counted: as for RocksDB, to destroy
   one after the close may end the process. */

#ifndef ROCKSYNC_C_H_
#define ROCKSYNC_C_H_

#include <stddef.h>
#include <stdint.h>

#include "rocksdb/c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An open replicated database. Thread-safe. */
typedef struct rocksync_t rocksync_t;
/* Of one. Not thread-safe. */
typedef struct rocksync_options_t rocksync_options_t;
/* How replicas reach each other. Thread-safe; several replicators must not
   listen on one. */
typedef struct rocksync_transport_t rocksync_transport_t;
/* Listens for several databases. Thread-safe. */
typedef struct rocksync_shared_listener_t rocksync_shared_listener_t;
/* Not thread-safe. */
typedef struct rocksync_replicator_options_t rocksync_replicator_options_t;
typedef struct rocksync_clone_options_t rocksync_clone_options_t;
/* Keeps a database equal to its peers. Thread-safe. */
typedef struct rocksync_replicator_t rocksync_replicator_t;
/* What a callback is given, and may use until it returns: values to change
   (rocksync_update), and changes that come from a peer
   (rocksync_options_set_apply_hook; rocksync_change_feed_next has them, too).
 */
typedef struct rocksync_values_t rocksync_values_t;
typedef struct rocksync_changes_t rocksync_changes_t;
/* For one thread at a time. */
typedef struct rocksync_change_feed_t rocksync_change_feed_t;

/* Frees an error, or text or an array that a call returned. */
void rocksync_free(void* text);

/* The version of the library, e.g. "0.1.0"; not to be freed. */
const char* rocksync_version(void);

/* Options of a replicated database: rocksync::ReplicatedDBOptions. */

rocksync_options_t* rocksync_options_create(void);
void rocksync_options_destroy(rocksync_options_t* options);
/* Required. */
void rocksync_options_set_cluster_name(rocksync_options_t* options,
                                       const char* name);
/* Required: 32 random bytes, the same on all replicas. Any other size is an
   error. */
void rocksync_options_set_cluster_secret(rocksync_options_t* options,
                                         const void* secret, size_t size,
                                         char** errptr);
/* The same, read from a file of exactly 32 bytes, which may be a pipe;
   rocksync::ReadClusterSecret tells the errors. */
void rocksync_options_read_cluster_secret(rocksync_options_t* options,
                                          const char* file, char** errptr);
/* One more replicated family. Without any, all are. */
void rocksync_options_add_family(rocksync_options_t* options, const char* name);
void rocksync_options_add_merge_family(rocksync_options_t* options,
                                       const char* name);
void rocksync_options_add_discard_history_of(rocksync_options_t* options,
                                             const char* name);
void rocksync_options_set_adopt_existing(rocksync_options_t* options,
                                         unsigned char adopt);
void rocksync_options_set_adopt_after_index_loss(rocksync_options_t* options,
                                                 unsigned char adopt);
void rocksync_options_set_open_copy_as_new_replica(rocksync_options_t* options,
                                                   unsigned char as_new);
/* The id of the replica that the opening makes of a directory without a
   database, or of a plain one; 0: the one that `rocksync id --make` wrote
   there, else a random one. */
void rocksync_options_set_new_replica_id(rocksync_options_t* options,
                                         uint64_t replica_id);
void rocksync_options_set_index_write_buffer_bytes(rocksync_options_t* options,
                                                   size_t bytes);
void rocksync_options_set_max_key_bytes(rocksync_options_t* options,
                                        size_t bytes);
void rocksync_options_set_max_value_bytes(rocksync_options_t* options,
                                          size_t bytes);
void rocksync_options_set_max_delete_range_keys(rocksync_options_t* options,
                                                uint64_t keys);
void rocksync_options_set_min_free_bytes(rocksync_options_t* options,
                                         uint64_t bytes);
void rocksync_options_set_max_clock_ahead_ms(rocksync_options_t* options,
                                             uint64_t ms);
void rocksync_options_set_compaction_filters_drop_nothing(
    rocksync_options_t* options, unsigned char promised);
void rocksync_options_set_comparators_tell_all_bytes_apart(
    rocksync_options_t* options, unsigned char promised);
/* How pairs from peers are written; copied. */
void rocksync_options_set_apply_write_options(
    rocksync_options_t* options, const rocksdb_writeoptions_t* write_options,
    char** errptr);
/* `before_apply` sees every batch of changes from peers before it is applied:
   rocksync::ApplyHook, which says what it must not do (above all, it must not
   write to the database). Called on threads of the replicator and on those that
   call rocksync_replicator_sync. `destructor` (may be NULL) gets `state` once
   neither the options nor a database that was opened with them need it. In
   place of a hook that was set before; NULL for `before_apply`: none, and
   `state` stays the caller's. */
void rocksync_options_set_apply_hook(
    rocksync_options_t* options, void* state, void (*destructor)(void* state),
    void (*before_apply)(void* state, const rocksync_changes_t* changes));
/* Of the change number `i`, from 0 on. Bytes that are returned are valid during
   the call of the hook only, those of a feed until its next call. NULL or 0 if
   there is no such change. */
size_t rocksync_changes_count(const rocksync_changes_t* changes);
const char* rocksync_changes_family(const rocksync_changes_t* changes, size_t i,
                                    size_t* size);
const char* rocksync_changes_key(const rocksync_changes_t* changes, size_t i,
                                 size_t* size);
/* NULL: the key was deleted. A feed has no values: there a key that was written
   has an empty one. */
const char* rocksync_changes_value(const rocksync_changes_t* changes, size_t i,
                                   size_t* size);
/* When it was written (milliseconds since 1970), and by which replica. Both 0:
   the pair was adopted. */
uint64_t rocksync_changes_time_ms(const rocksync_changes_t* changes, size_t i);
uint64_t rocksync_changes_replica_id(const rocksync_changes_t* changes,
                                     size_t i);
/* 1: this replica knew a value or a tombstone of the key, which is replaced. */
unsigned char rocksync_changes_replaces(const rocksync_changes_t* changes,
                                        size_t i);
/* What is replaced: 1 if it is a tombstone; when and by which replica it was
   written. All 0: nothing is, or a pair that was adopted. */
unsigned char rocksync_changes_replaced_tombstone(
    const rocksync_changes_t* changes, size_t i);
uint64_t rocksync_changes_replaced_time_ms(const rocksync_changes_t* changes,
                                           size_t i);
uint64_t rocksync_changes_replaced_replica_id(const rocksync_changes_t* changes,
                                              size_t i);
/* The id of the peer that sent it, which need not have written it. 0: it is a
   hook's, which is not told. */
uint64_t rocksync_changes_source_id(const rocksync_changes_t* changes,
                                    size_t i);

/* Opening and closing: rocksync::ReplicatedDB. */

/* As rocksdb_open. */
rocksync_t* rocksync_open(const rocksdb_options_t* options,
                          const rocksync_options_t* replication,
                          const char* name, char** errptr);
/* As rocksdb_open_column_families: all families of the database are named, each
   once, but the index is not: "__rocksync_index" is refused, so leave it out of
   what rocksdb_list_column_families gives. `handles` has room for `families` of
   them. The handles belong to the database and live until it is closed, or
   until rocksync_column_family_handle_destroy:
   rocksdb_column_family_handle_destroy must NOT be called on them. */
rocksync_t* rocksync_open_column_families(
    const rocksdb_options_t* options, const rocksync_options_t* replication,
    const char* name, int families, const char* const* family_names,
    const rocksdb_options_t* const* family_options,
    rocksdb_column_family_handle_t** handles, char** errptr);

/* Returns 1 if the database was closed, and *db is gone then. 0: "Operation
   aborted", it is as open as before, since a rocksdb_t, a replicator, a
   snapshot or an iterator of it is still there, or since a callback of it
   calls; while it finds that out, no other thread gets a rocksdb_t or starts a
   replicator ("Shutdown in progress"). 1 and an error: *db is gone all the
   same, and the error tells what closing did not do. */
unsigned char rocksync_close(rocksync_t* db, char** errptr);

/* The error with which rocksync_close would refuse now, and 0; 1: there is
   none. Changes nothing. `rocksdbs` and `iterators`: how many rocksdb_t and
   iterators the caller will release before the close; so many are not counted.
 */
unsigned char rocksync_check_close(const rocksync_t* db, size_t rocksdbs,
                                   size_t iterators, char** errptr);

/* A way to the database for RocksDB's C functions. The caller ends it with
   rocksdb_close, which closes nothing but this one way; there may be several.
   rocksdb_create_column_family is refused on it, see below. */
rocksdb_t* rocksync_rocksdb(rocksync_t* db, char** errptr);

/* The handle belongs to the database, as those above, and stays valid after the
   family was dropped: with it RocksDB keeps the family's tables and memtables.
   Destroy it to have them back. After an error RocksDB may have made the family
   all the same: call it again, which goes on with that one, or list the
   families before the next opening. */
rocksdb_column_family_handle_t* rocksync_create_column_family(
    rocksync_t* db, const rocksdb_options_t* options, const char* name,
    char** errptr);
void rocksync_drop_column_family(rocksync_t* db,
                                 rocksdb_column_family_handle_t* family,
                                 char** errptr);
/* Gives back a handle before the database is closed. No other call may use it
   meanwhile or later. Of a family that was dropped, disk space and memory come
   back once the sessions that read it have ended, within seconds.
   InvalidArgument: it is of another database, or destroyed already. */
void rocksync_column_family_handle_destroy(
    rocksync_t* db, rocksdb_column_family_handle_t* family, char** errptr);
/* Names, in ascending order, each ended by a zero byte; *count of them. */
char* rocksync_replicated_families(const rocksync_t* db, size_t* count,
                                   char** errptr);

uint64_t rocksync_replica_id(const rocksync_t* db);
/* Counts the openings. */
uint64_t rocksync_incarnation(const rocksync_t* db);
/* Waits until an existing database was adopted, or what bypassed rocksync
   was checked. The error is "Result incomplete" after timeout_ms. */
void rocksync_wait_for_index_build(const rocksync_t* db, uint64_t timeout_ms,
                                   char** errptr);
/* How far that is, estimated; 100 once it is done, and less until then. */
double rocksync_index_build_percent(const rocksync_t* db);
void rocksync_set_members(rocksync_t* db, uint64_t epoch,
                          const uint64_t* replica_ids, size_t count,
                          char** errptr);
void rocksync_collect_tombstones(rocksync_t* db, char** errptr);
/* A feed of what peers change from now on, for which `buffer_bytes` are kept:
   4 KiB to 64 GiB, usually 1 MiB. See rocksync::ChangeFeed. It may be destroyed
   after the database. */
rocksync_change_feed_t* rocksync_subscribe(rocksync_t* db, size_t buffer_bytes,
                                           char** errptr);
/* Waits until there are changes, and returns all there are; they are the
   feed's, until its next call. NULL without an error: none came within
   `timeout_ms`. `*missed` (may be NULL) gets the number of later changes
   that did not fit the buffer; if it is not 0, the list may be empty.
   "Operation aborted": the database was closed, and all was returned. */
const rocksync_changes_t* rocksync_change_feed_next(
    rocksync_change_feed_t* feed, uint64_t timeout_ms, uint64_t* missed,
    char** errptr);
void rocksync_change_feed_destroy(rocksync_change_feed_t* feed);
/* Deletes any number of keys from `begin` on and before `end`, in batches.
   `family` may be NULL: the default one. Returns how many keys were deleted,
   also before an error. */
uint64_t rocksync_delete_range_in_chunks(rocksync_t* db,
                                         const rocksdb_writeoptions_t* options,
                                         rocksdb_column_family_handle_t* family,
                                         const char* begin, size_t begin_size,
                                         const char* end, size_t end_size,
                                         char** errptr);

/* Reads `count` keys, and writes what `change` makes of their values, in one
   batch, while no other thread and no session with a peer writes these keys:
   ReplicatedDB::Update, which says what `change` must not do (above all, write
   to the database, or take long). `families` may be NULL: all keys are of the
   default one. `change` returns 1 to write the values, and 0 to write nothing:
   then the error is "Operation aborted". It is called at most once. */
void rocksync_update(
    rocksync_t* db, const rocksdb_writeoptions_t* options, size_t count,
    rocksdb_column_family_handle_t* const* families, const char* const* keys,
    const size_t* key_sizes, void* state,
    unsigned char (*change)(void* state, rocksync_values_t* values),
    char** errptr);
/* The value of key number `i`, from 0 on, as it was read or as it was set last;
   NULL: it is not there. Valid until it is set. */
const char* rocksync_values_get(const rocksync_values_t* values, size_t i,
                                size_t* size);
/* Copied. NULL for `value` deletes the key. A number that no key has makes the
   update fail with "Invalid argument". */
void rocksync_values_set(rocksync_values_t* values, size_t i, const char* value,
                         size_t size);

/* Takes the index out of a database that is not open. `families`: how many are
   named, as for rocksync_open_column_families; those have to be that cannot be
   opened with RocksDB's defaults, as they have a comparator or a merge operator
   of the application's. The others are found. */
void rocksync_detach(const rocksdb_options_t* options, const char* name,
                     int families, const char* const* family_names,
                     const rocksdb_options_t* const* family_options,
                     char** errptr);

/* Certificates and transports. */

/* Certificates for trials: the CA's key lies beside them. Makes one of
   `replica_id` in `directory`, and gives the paths of the three files. */
void rocksync_make_trial_certificate(const char* directory, uint64_t replica_id,
                                     char** ca_file, char** certificate_file,
                                     char** private_key_file, char** errptr);
/* The replica id that a certificate names. */
uint64_t rocksync_read_replica_id(const char* certificate_file, char** errptr);

rocksync_transport_t* rocksync_tls_transport_create(
    const char* ca_file, const char* certificate_file,
    const char* private_key_file, char** errptr);
/* No secrecy and no integrity: see rocksync/tls_transport.h. */
rocksync_transport_t* rocksync_insecure_plaintext_transport_create(
    char** errptr);
void rocksync_transport_destroy(rocksync_transport_t* transport);

/* One port and one certificate for several databases of this process, each of a
   cluster of its own: rocksync::SharedListener. All of them have the id that
   the certificate names (rocksync_options_set_new_replica_id). No replicator
   may listen on `transport` by itself; a clone may be made with it. */
rocksync_shared_listener_t* rocksync_shared_listener_start(
    rocksync_transport_t* transport, const char* address, char** errptr);
/* With the port that the system chose if 0 was asked for. */
char* rocksync_shared_listener_address(
    const rocksync_shared_listener_t* listener);
/* It listens on until the last replicator that was given it is destroyed, and
   the options that name it are. */
void rocksync_shared_listener_destroy(rocksync_shared_listener_t* listener);

/* Options of a replicator: rocksync::ReplicatorOptions. */

rocksync_replicator_options_t* rocksync_replicator_options_create(void);
void rocksync_replicator_options_destroy(
    rocksync_replicator_options_t* options);
void rocksync_replicator_options_add_peer(
    rocksync_replicator_options_t* options, const char* address);
void rocksync_replicator_options_set_listen_address(
    rocksync_replicator_options_t* options, const char* address);
/* Instead of an address. NULL: none. */
void rocksync_replicator_options_set_shared_listener(
    rocksync_replicator_options_t* options,
    const rocksync_shared_listener_t* listener);
/* 0: sessions only by rocksync_replicator_sync, and no streams. */
void rocksync_replicator_options_set_interval_ms(
    rocksync_replicator_options_t* options, uint64_t ms);
/* With more peers than this, sessions with only so many of them in each
   interval, in turns. 0: with all. */
void rocksync_replicator_options_set_max_peers_per_interval(
    rocksync_replicator_options_t* options, size_t peers);
/* 0: only by rocksync_replicator_scrub. */
void rocksync_replicator_options_set_scrub_interval_ms(
    rocksync_replicator_options_t* options, uint64_t ms);
void rocksync_replicator_options_set_io_timeout_ms(
    rocksync_replicator_options_t* options, uint64_t ms);
/* Connections that peers and tools open to here. The transports of this header
   take as many; a shared listener's the sum of those of its databases. */
void rocksync_replicator_options_set_max_accepted(
    rocksync_replicator_options_t* options, size_t connections);
void rocksync_replicator_options_set_max_sessions(
    rocksync_replicator_options_t* options, size_t sessions);
void rocksync_replicator_options_set_max_session_bytes(
    rocksync_replicator_options_t* options, size_t bytes);
void rocksync_replicator_options_set_bytes_per_second(
    rocksync_replicator_options_t* options, uint64_t bytes);
void rocksync_replicator_options_set_index_reads_per_second(
    rocksync_replicator_options_t* options, uint64_t reads);
void rocksync_replicator_options_set_scrub_bytes_per_second(
    rocksync_replicator_options_t* options, uint64_t bytes);
/* Fewer round trips for more bytes. */
void rocksync_replicator_options_set_prefer_round_trips(
    rocksync_replicator_options_t* options, unsigned char prefer);
/* 0: no streams; what is written travels at the next session. */
void rocksync_replicator_options_set_stream(
    rocksync_replicator_options_t* options, unsigned char stream);
/* With more peers than this streams to so many of them. 0: to all. */
void rocksync_replicator_options_set_max_stream_peers(
    rocksync_replicator_options_t* options, size_t peers);
void rocksync_replicator_options_set_stream_buffer_bytes(
    rocksync_replicator_options_t* options, size_t bytes);
void rocksync_replicator_options_set_stream_syncs(
    rocksync_replicator_options_t* options, unsigned char syncs);
/* 0: whoever asks for a clone of this replica is refused. */
void rocksync_replicator_options_set_allow_clones(
    rocksync_replicator_options_t* options, unsigned char allow);
void rocksync_replicator_options_set_zone(
    rocksync_replicator_options_t* options, const char* zone);
/* `progress` is told of sessions, at most about ten times a second while one
   runs and when it ends: ReplicatorOptions::progress, which says on which
   threads, several of them at once, and what must not be called. `session` is
   one JSON object (rocksync::SessionJson), valid during the call. `state` has
   to live until the replicator is destroyed. NULL: none. */
void rocksync_replicator_options_set_progress(
    rocksync_replicator_options_t* options, void* state,
    void (*progress)(void* state, const char* session));

/* The replicator: rocksync::Replicator. */

/* With a shared listener `transport` is NULL, or that of the listener. */
rocksync_replicator_t* rocksync_replicator_start(
    rocksync_t* db, const rocksync_replicator_options_t* options,
    rocksync_transport_t* transport, char** errptr);
/* Ends sessions. Afterwards statistics can still be read, and all other calls
   fail with "Operation aborted". Any thread; rocksync_replicator_destroy stops
   first. In a callback of the replicator or of its database either would wait
   for itself: the process ends with a message. */
void rocksync_replicator_stop(rocksync_replicator_t* replicator);
void rocksync_replicator_destroy(rocksync_replicator_t* replicator);

/* Sessions with `peer` until one proves the two equal: no error then. Blocks.
   "Operation failed. Try again." and "Resource busy" pass by themselves, but
   for a replicator that is paused; if the peer's is, the call waits for the I/O
   timeout (30 s) before it says so. "Result incomplete" names pairs that one
   side refuses, cannot read or has quarantined; of these only quarantined ones
   pass by themselves. rocksync/replicator.h has all kinds. */
void rocksync_replicator_sync(rocksync_replicator_t* replicator,
                              const char* peer, char** errptr);

/* What a comparison says of a key that differs. */
enum {
  rocksync_missing_here = 0,
  rocksync_missing_there = 1,
  rocksync_version_differs = 2,
  rocksync_content_differs = 3
};
/* `differs` (may be NULL) is called by the calling thread for each of at most
   `max_keys` keys that still differ after `wait_ms` (the time of the looks
   comes on top, see rocksync/verify.h); must not call the replicator. Returns 1
   if all was compared and is equal. 0 without an error: keys differ. `*result`
   (may be NULL) gets one JSON object that says how much was compared, how often
   and for how many bytes (rocksync::VerifyJson), after an error too. */
unsigned char rocksync_replicator_verify(
    rocksync_replicator_t* replicator, const char* peer, uint64_t max_keys,
    uint64_t wait_ms, void* state,
    void (*differs)(void* state, int difference, const char* family,
                    size_t family_size, const char* key, size_t key_size),
    char** result, char** errptr);

/* Compares all stored values with the index, at the pace of the limit. How far
   it is: "scrub" in rocksync_replicator_stats_json. */
void rocksync_replicator_scrub(rocksync_replicator_t* replicator,
                               char** errptr);
/* From now on these are the peers, `count` addresses (`peers` may be NULL if it
   is 0), as if rocksync_replicator_options_add_peer had named them. Sessions
   and streams with new ones begin at once; see rocksync::Replicator::SetPeers.
 */
void rocksync_replicator_set_peers(rocksync_replicator_t* replicator,
                                   const char* const* peers, size_t count,
                                   char** errptr);
/* No session begins, and streams are closed, until rocksync_replicator_resume.
   A session that runs goes on. */
void rocksync_replicator_pause(rocksync_replicator_t* replicator);
void rocksync_replicator_resume(rocksync_replicator_t* replicator);
/* As the options of these names, while it runs. */
void rocksync_replicator_set_limits(rocksync_replicator_t* replicator,
                                    uint64_t bytes_per_second,
                                    uint64_t index_reads_per_second,
                                    uint64_t scrub_bytes_per_second,
                                    size_t max_sessions, char** errptr);
/* With the port that the system chose if 0 was asked for; empty if it does not
   listen. */
char* rocksync_replicator_listen_address(
    const rocksync_replicator_t* replicator);
/* One JSON object, which is what `rocksync status --json` prints of this
   replica (rocksync::Replicator::StatusJson; docs/operating.md has its fields).
   After rocksync_replicator_stop, as it was then. */
char* rocksync_replicator_stats_json(const rocksync_replicator_t* replicator);
/* rocksync::ReplicationStats in Prometheus' text format (rocksync/metrics.h).
 */
char* rocksync_replicator_stats_prometheus(
    const rocksync_replicator_t* replicator);

/* Copies: rocksync::ReplicatedDB::Clone and Resync. */

/* `transport` is the new replica's own; its certificate names the id that the
   clone gets, which the source must never have met. `source` is the address of
   the replica to copy. */
rocksync_clone_options_t* rocksync_clone_options_create(
    rocksync_transport_t* transport, const char* source);
void rocksync_clone_options_destroy(rocksync_clone_options_t* options);
void rocksync_clone_options_set_io_timeout_ms(rocksync_clone_options_t* options,
                                              uint64_t ms);
void rocksync_clone_options_set_connections(rocksync_clone_options_t* options,
                                            size_t connections);
enum {
  rocksync_clone_asking = 0,
  rocksync_clone_copying = 1,
  rocksync_clone_opening = 2,
  rocksync_clone_proving = 3,
  rocksync_clone_carrying_over = 4 /* of a resync, before opening */
};
/* `progress` is called by the thread that clones, as each stage begins and
   about ten times a second until the call ends, also while the source is
   silent: `bytes_done` of `bytes` (0: not known yet) are there. It returns 1 to
   go on, and 0 to end the call with "Operation aborted"; a later call resumes.
   It may be called a few times more before the call ends; an opening is not cut
   short. In its last stage a clone, and from the opening on a resync that
   copies, is complete, and stays: the call succeeds, and if its session had not
   ended by then, the session's error says that it was cancelled. NULL: none. */
void rocksync_clone_options_set_progress(
    rocksync_clone_options_t* options, void* state,
    unsigned char (*progress)(void* state, int stage, uint64_t bytes_done,
                              uint64_t bytes));

/* Ends the call that uses these options, soon, as if `progress` had returned 0;
   and each later call with them, at once. For any thread, a callback, and a
   handler of signals. */
void rocksync_clone_options_cancel(rocksync_clone_options_t* options);

/* The id of the replica that the clone in the directory `name`, which was
   interrupted, becomes; 0: no such clone is there. Once all of it is copied
   only a certificate of that id resumes it: whoever makes one for each call
   (rocksync_make_trial_certificate) asks here first. */
uint64_t rocksync_clone_replica_id(const char* name, char** errptr);

/* Makes a new replica in the directory `name`, which must not be there, or be
   empty, or hold a clone that was interrupted, and must not lie in the
   directory of another database, or in one for the log or the tables of a
   replica. (Of a plain database's nothing tells there: avoid them.) Blocks. All
   families of the source are named, as for rocksync_open_column_families; with
   0 of them it is the default one, with `options`. An error that names families
   comes when all files are there: the same call with these families goes on
   from there, and so does an opening with them. Returns 1 if the clone is there
   and was proven equal to its source. 0 without an error: it is there, and
   *session_error (may be NULL) says why it is not proven yet; the first
   session of its replicator goes on. */
unsigned char rocksync_clone(const rocksdb_options_t* options,
                             const rocksync_options_t* replication,
                             const char* name, int families,
                             const char* const* family_names,
                             const rocksdb_options_t* const* family_options,
                             const rocksync_clone_options_t* clone,
                             char** session_error, char** errptr);

/* Brings the replica in the directory `name`, which is far behind and not open,
   up to date by a copy of the running one that `clone` names. It stays the
   replica that it is: the transport of `clone` has its certificate. What it
   alone holds is carried over, so many pairs and tombstones: *carried_over (may
   be NULL). If less than `copy_from_share` (0 to 1; 0.15 is a good choice) of
   the pairs is to come, a session brings them, and nothing is copied. The rest
   as for rocksync_clone. */
unsigned char rocksync_resync(const rocksdb_options_t* options,
                              const rocksync_options_t* replication,
                              const char* name, int families,
                              const char* const* family_names,
                              const rocksdb_options_t* const* family_options,
                              const rocksync_clone_options_t* clone,
                              double copy_from_share, uint64_t* carried_over,
                              char** session_error, char** errptr);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ROCKSYNC_C_H_ */

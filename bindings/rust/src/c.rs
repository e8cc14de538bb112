//! The C functions that the crate calls, of rocksync/c.h and rocksdb/c.h.
use std::os::raw::{c_char, c_int, c_uchar, c_void};

pub type Handle = *mut c_void;
pub type Error = *mut *mut c_char;
pub type Differs = unsafe extern "C" fn(Handle, c_int, *const u8, usize, *const u8, usize);
pub type Change = unsafe extern "C" fn(Handle, Handle) -> c_uchar;

#[link(name = "rocksync")]
#[link(name = "rocksdb")]
extern "C" {
    pub fn rocksdb_options_create() -> Handle;
    pub fn rocksdb_options_destroy(options: Handle);
    pub fn rocksdb_options_set_create_if_missing(options: Handle, create: c_uchar);
    pub fn rocksdb_readoptions_create() -> Handle;
    pub fn rocksdb_readoptions_destroy(options: Handle);
    pub fn rocksdb_writeoptions_create() -> Handle;
    pub fn rocksdb_writeoptions_destroy(options: Handle);
    pub fn rocksdb_close(db: Handle);
    pub fn rocksdb_free(bytes: Handle);
    pub fn rocksdb_put(db: Handle, o: Handle, key: *const u8, n: usize, value: *const u8, m: usize, error: Error);
    pub fn rocksdb_get(db: Handle, o: Handle, key: *const u8, n: usize, size: *mut usize, error: Error) -> Handle;
    pub fn rocksdb_delete(db: Handle, o: Handle, key: *const u8, n: usize, error: Error);

    pub fn rocksync_free(text: Handle);
    pub fn rocksync_options_create() -> Handle;
    pub fn rocksync_options_destroy(options: Handle);
    pub fn rocksync_options_set_cluster_name(options: Handle, name: *const c_char);
    pub fn rocksync_options_set_cluster_secret(options: Handle, secret: *const u8, size: usize, error: Error);
    pub fn rocksync_options_set_open_copy_as_new_replica(options: Handle, as_new: c_uchar);
    pub fn rocksync_open(options: Handle, replication: Handle, name: *const c_char, error: Error) -> Handle;
    pub fn rocksync_rocksdb(db: Handle, error: Error) -> Handle;
    pub fn rocksync_close(db: Handle, error: Error) -> c_uchar;
    pub fn rocksync_replica_id(db: Handle) -> u64;
    pub fn rocksync_set_members(db: Handle, epoch: u64, ids: *const u64, count: usize, error: Error);
    pub fn rocksync_collect_tombstones(db: Handle, error: Error);
    pub fn rocksync_wait_for_index_build(db: Handle, timeout_ms: u64, error: Error);
    pub fn rocksync_update(
        db: Handle, options: Handle, count: usize, families: *const Handle, keys: *const *const u8, sizes: *const usize,
        state: Handle, change: Change, error: Error,
    );
    pub fn rocksync_values_get(values: Handle, i: usize, size: *mut usize) -> *const u8;
    pub fn rocksync_values_set(values: Handle, i: usize, value: *const u8, size: usize);
    pub fn rocksync_subscribe(db: Handle, buffer_bytes: usize, error: Error) -> Handle;
    pub fn rocksync_change_feed_next(feed: Handle, timeout_ms: u64, missed: *mut u64, error: Error) -> Handle;
    pub fn rocksync_change_feed_destroy(feed: Handle);
    pub fn rocksync_changes_count(changes: Handle) -> usize;
    pub fn rocksync_changes_family(changes: Handle, i: usize, size: *mut usize) -> *const u8;
    pub fn rocksync_changes_key(changes: Handle, i: usize, size: *mut usize) -> *const u8;
    pub fn rocksync_changes_value(changes: Handle, i: usize, size: *mut usize) -> *const u8;
    pub fn rocksync_changes_time_ms(changes: Handle, i: usize) -> u64;
    pub fn rocksync_changes_replica_id(changes: Handle, i: usize) -> u64;
    pub fn rocksync_changes_replaces(changes: Handle, i: usize) -> c_uchar;
    pub fn rocksync_changes_replaced_tombstone(changes: Handle, i: usize) -> c_uchar;
    pub fn rocksync_changes_replaced_time_ms(changes: Handle, i: usize) -> u64;
    pub fn rocksync_changes_replaced_replica_id(changes: Handle, i: usize) -> u64;
    pub fn rocksync_changes_source_id(changes: Handle, i: usize) -> u64;
    pub fn rocksync_make_trial_certificate(
        directory: *const c_char, id: u64, ca: Error, certificate: Error, key: Error, error: Error,
    );
    pub fn rocksync_tls_transport_create(
        ca: *const c_char, certificate: *const c_char, key: *const c_char, error: Error,
    ) -> Handle;
    pub fn rocksync_transport_destroy(transport: Handle);
    pub fn rocksync_replicator_options_create() -> Handle;
    pub fn rocksync_replicator_options_destroy(options: Handle);
    pub fn rocksync_replicator_options_add_peer(options: Handle, address: *const c_char);
    pub fn rocksync_replicator_options_set_listen_address(options: Handle, address: *const c_char);
    pub fn rocksync_replicator_options_set_interval_ms(options: Handle, ms: u64);
    pub fn rocksync_replicator_options_set_max_peers_per_interval(options: Handle, peers: usize);
    pub fn rocksync_replicator_options_set_max_accepted(options: Handle, connections: usize);
    pub fn rocksync_replicator_options_set_stream(options: Handle, stream: c_uchar);
    pub fn rocksync_replicator_options_set_max_stream_peers(options: Handle, peers: usize);
    pub fn rocksync_replicator_options_set_allow_clones(options: Handle, allow: c_uchar);
    pub fn rocksync_replicator_options_set_zone(options: Handle, zone: *const c_char);
    pub fn rocksync_replicator_start(db: Handle, options: Handle, transport: Handle, error: Error) -> Handle;
    pub fn rocksync_replicator_destroy(replicator: Handle);
    pub fn rocksync_replicator_sync(replicator: Handle, peer: *const c_char, error: Error);
    pub fn rocksync_replicator_verify(
        replicator: Handle, peer: *const c_char, max_keys: u64, wait_ms: u64, state: Handle, differs: Option<Differs>,
        result: Error, error: Error,
    ) -> c_uchar;
    pub fn rocksync_replicator_scrub(replicator: Handle, error: Error);
    pub fn rocksync_replicator_set_peers(replicator: Handle, peers: *const *const c_char, count: usize, error: Error);
    pub fn rocksync_replicator_pause(replicator: Handle);
    pub fn rocksync_replicator_resume(replicator: Handle);
    pub fn rocksync_replicator_listen_address(replicator: Handle) -> *mut c_char;
    pub fn rocksync_replicator_stats_json(replicator: Handle) -> *mut c_char;
}

// Two replicas of a database, which are made equal: rustc two_replicas.rs && ./two_replicas
// A binding such as rocksdb-rs wraps the rocksdb_t; here are RocksDB's C functions themselves.
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_uchar, c_void};
use std::ptr::null_mut;

type Handle = *mut c_void;
type Error = *mut *mut c_char;

#[link(name = "rocksync")]
#[link(name = "rocksdb")]
extern "C" {
    fn rocksdb_options_create() -> Handle;
    fn rocksdb_options_set_create_if_missing(options: Handle, create: c_uchar);
    fn rocksdb_writeoptions_create() -> Handle;
    fn rocksdb_put(db: Handle, o: Handle, key: *const u8, n: usize, value: *const u8, m: usize, error: Error);
    fn rocksdb_close(db: Handle);
    fn rocksync_options_create() -> Handle;
    fn rocksync_options_set_cluster_name(options: Handle, name: *const c_char);
    fn rocksync_options_set_cluster_secret(options: Handle, secret: *const u8, size: usize, error: Error);
    fn rocksync_open(options: Handle, replication: Handle, name: *const c_char, error: Error) -> Handle;
    fn rocksync_rocksdb(db: Handle, error: Error) -> Handle;
    fn rocksync_close(db: Handle, error: Error) -> c_uchar;
    fn rocksync_replica_id(db: Handle) -> u64;
    fn rocksync_make_trial_certificate(directory: *const c_char, id: u64, ca: Error, certificate: Error, key: Error, error: Error);
    fn rocksync_tls_transport_create(ca: *const c_char, certificate: *const c_char, key: *const c_char, error: Error) -> Handle;
    fn rocksync_replicator_options_create() -> Handle;
    fn rocksync_replicator_options_set_listen_address(options: Handle, address: *const c_char);
    fn rocksync_replicator_start(db: Handle, options: Handle, transport: Handle, error: Error) -> Handle;
    fn rocksync_replicator_destroy(replicator: Handle);
    fn rocksync_replicator_sync(replicator: Handle, peer: *const c_char, error: Error);
    fn rocksync_replicator_verify(replicator: Handle, peer: *const c_char, max_keys: u64, wait_ms: u64, state: Handle,
        differs: Option<extern "C" fn(Handle, c_int, *const u8, usize, *const u8, usize)>, error: Error) -> c_uchar;
    fn rocksync_replicator_listen_address(replicator: Handle) -> *mut c_char;
}

/// What a call with an errptr returns; its error ends the program.
unsafe fn ok<T>(call: impl FnOnce(Error) -> T) -> T {
    let mut error: *mut c_char = null_mut();
    let result = call(&mut error);
    if !error.is_null() {
        panic!("{}", CStr::from_ptr(error).to_string_lossy());
    }
    result
}

unsafe fn open(path: &str) -> (Handle, Handle) {
    let (options, replication) = (rocksdb_options_create(), rocksync_options_create());
    let (name, path) = (CString::new("orders").unwrap(), CString::new(path).unwrap());
    rocksdb_options_set_create_if_missing(options, 1);
    rocksync_options_set_cluster_name(replication, name.as_ptr());
    let secret = [42u8; 32]; // yours: random, and the same on all replicas
    ok(|e| rocksync_options_set_cluster_secret(replication, secret.as_ptr(), 32, e));
    let db = ok(|e| rocksync_open(options, replication, path.as_ptr(), e));
    (db, ok(|e| rocksync_rocksdb(db, e))) // the second one is a rocksdb_t
}

unsafe fn put(db: Handle, key: &str, value: &str) {
    ok(|e| rocksdb_put(db, rocksdb_writeoptions_create(), key.as_ptr(), key.len(), value.as_ptr(), value.len(), e));
}

unsafe fn replicate(db: Handle, listen: &str) -> Handle {
    let (mut ca, mut certificate, mut key) = (null_mut(), null_mut(), null_mut());
    let (trial, listen) = (CString::new("trial").unwrap(), CString::new(listen).unwrap());
    ok(|e| rocksync_make_trial_certificate(trial.as_ptr(), rocksync_replica_id(db), &mut ca, &mut certificate, &mut key, e));
    let transport = ok(|e| rocksync_tls_transport_create(ca, certificate, key, e));
    let options = rocksync_replicator_options_create();
    rocksync_replicator_options_set_listen_address(options, listen.as_ptr());
    ok(|e| rocksync_replicator_start(db, options, transport, e))
}

fn main() {
    unsafe {
        let ((a, in_a), (b, in_b)) = (open("a"), open("b"));
        put(in_a, "from a", "1");
        put(in_b, "from b", "2");
        let (of_a, of_b) = (replicate(a, "127.0.0.1:0"), replicate(b, ""));
        let peer = rocksync_replicator_listen_address(of_a);
        ok(|e| rocksync_replicator_sync(of_b, peer, e));
        println!("equal: {}", ok(|e| rocksync_replicator_verify(of_b, peer, 1, 0, null_mut(), None, e)) == 1);
        rocksync_replicator_destroy(of_b);
        rocksync_replicator_destroy(of_a);
        rocksdb_close(in_a);
        rocksdb_close(in_b);
        ok(|e| rocksync_close(a, e));
        ok(|e| rocksync_close(b, e));
    }
}

//! Makes replicas of a RocksDB database equal, by `librocksync.so` (rocksync/c.h). What each call means, costs and
//! refuses is in the library's C++ headers.
//!
//! It needs librocksync-dev, which has it in /usr/share/doc/librocksync-dev/bindings/rust. From there or a source tree, in a
//! Cargo.toml: `rocksync = { path = "../rocksync/bindings/rust" }`. A crate that wraps `rocksdb_t` takes
//! [`Database::rocksdb`]; it must be linked with the system's RocksDB. What of rocksync/c.h this crate lacks is called with
//! [`Database::handle`] and [`Replicator::handle`].
use std::any::Any;
use std::ffi::{CStr, CString};
use std::fmt;
use std::os::raw::{c_char, c_int, c_uchar, c_void};
use std::os::unix::ffi::OsStrExt;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::Mutex;
use std::time::Duration;

mod c;
mod change_feed;
use c::Handle;
pub use change_feed::{ChangeFeed, FeedChange};

/// An error of the library or of RocksDB, in its words.
pub struct Error(String);

pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// What a program's main that returns it prints.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Options of a database.
#[derive(Clone)]
pub struct Options {
    pub cluster: String,
    /// Random, and the same on all replicas.
    pub secret: [u8; 32],
    /// For a checkpoint or a restored backup: it opens as a replica of its own.
    pub open_copy_as_new_replica: bool,
}

impl Options {
    pub fn new(cluster: &str, secret: [u8; 32]) -> Options {
        Options { cluster: cluster.into(), secret, open_copy_as_new_replica: false }
    }
}

/// An open replicated database. It closes when it is dropped; `close` tells of errors.
pub struct Database {
    db: Handle,
    way: Handle, // the rocksdb_t
    read: Handle,
    write: Handle,
    replicators: Mutex<Vec<Handle>>, // not destroyed yet
}

// Thread-safe, as the C interface says.
unsafe impl Send for Database {}
unsafe impl Sync for Database {}

impl Database {
    /// Opens the database in the directory `path`, and makes it if it is not there. A plain database is adopted in the
    /// background. Its one column family is the default one: a database that has others is refused, by their names.
    pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<Database> {
        let (path, cluster) = (path_text(path.as_ref())?, text(&options.cluster)?);
        unsafe {
            let plain = Freed(c::rocksdb_options_create(), c::rocksdb_options_destroy);
            let replication = Freed(c::rocksync_options_create(), c::rocksync_options_destroy);
            c::rocksdb_options_set_create_if_missing(plain.0, 1);
            c::rocksync_options_set_cluster_name(replication.0, cluster.as_ptr());
            c::rocksync_options_set_open_copy_as_new_replica(replication.0, options.open_copy_as_new_replica as c_uchar);
            call(|e| c::rocksync_options_set_cluster_secret(replication.0, options.secret.as_ptr(), 32, e))?;
            let db = call(|e| c::rocksync_open(plain.0, replication.0, path.as_ptr(), e))?;
            let way = call(|e| c::rocksync_rocksdb(db, e))?;
            let (read, write) = (c::rocksdb_readoptions_create(), c::rocksdb_writeoptions_create());
            Ok(Database { db, way, read, write, replicators: Mutex::new(Vec::new()) })
        }
    }

    /// Closes the database, as dropping it does, and tells what closing did not do.
    pub fn close(mut self) -> Result<()> {
        self.end()
    }

    // Of replicators only those are left that were forgotten (`std::mem::forget`).
    fn end(&mut self) -> Result<()> {
        if self.db.is_null() {
            return Ok(());
        }
        let forgotten = std::mem::take(self.replicators.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner()));
        unsafe {
            forgotten.into_iter().for_each(|replicator| c::rocksync_replicator_destroy(replicator));
            c::rocksdb_close(self.way);
            let closed = call(|e| c::rocksync_close(self.db, e));
            c::rocksdb_readoptions_destroy(self.read);
            c::rocksdb_writeoptions_destroy(self.write);
            self.db = null_mut();
            closed.map(|_| ())
        }
    }

    /// The `rocksync_t`, for what of rocksync/c.h this crate lacks; it lives as long as `self`.
    pub fn handle(&self) -> *mut c_void {
        self.db
    }

    /// The `rocksdb_t` of the database, for other crates; it lives as long as `self`.
    pub fn rocksdb(&self) -> *mut c_void {
        self.way
    }

    /// What a certificate of the replica names, as 16 hex digits.
    pub fn replica_id(&self) -> u64 {
        unsafe { c::rocksync_replica_id(self.db) }
    }

    /// Writes a pair of the default column family.
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        let (k, v) = (key.as_ref(), value.as_ref());
        call(|e| unsafe { c::rocksdb_put(self.way, self.write, k.as_ptr(), k.len(), v.as_ptr(), v.len(), e) })
    }

    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        let (k, mut size) = (key.as_ref(), 0);
        let found = call(|e| unsafe { c::rocksdb_get(self.way, self.read, k.as_ptr(), k.len(), &mut size, e) })?;
        let value = unsafe { copied(found, size) };
        unsafe { c::rocksdb_free(found) };
        Ok(value)
    }

    /// Deletes a key, whether it is there or not.
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
        let k = key.as_ref();
        call(|e| unsafe { c::rocksdb_delete(self.way, self.write, k.as_ptr(), k.len(), e) })
    }

    /// Writes what `change` makes of a value, while no other thread and no session with a peer writes the key. `None` is
    /// a key that is not there, and deletes one that is. `change` must not write to the database, and be quick; if it
    /// panics nothing is written, and the caller panics.
    pub fn update(&self, key: impl AsRef<[u8]>, change: impl FnOnce(Option<Vec<u8>>) -> Option<Vec<u8>>) -> Result<()> {
        let (key, size) = (key.as_ref().as_ptr(), key.as_ref().len());
        let mut change = ChangeOne { change: Some(change), panic: None };
        let done = call(|e| unsafe {
            let state = &mut change as *mut ChangeOne<_> as Handle;
            c::rocksync_update(self.db, self.write, 1, null(), &key, &size, state, change_one_of(&change), e)
        });
        match change.panic {
            Some(panic) => resume_unwind(panic),
            None => done,
        }
    }

    /// Sets the list of all replicas of the cluster, on one of them; others take it over. Without a list tombstones are
    /// kept permanently. `epoch` must be greater than that of the list before; the first is 1.
    pub fn set_members(&self, epoch: u64, replica_ids: &[u64]) -> Result<()> {
        call(|e| unsafe { c::rocksync_set_members(self.db, epoch, replica_ids.as_ptr(), replica_ids.len(), e) })
    }

    /// Collects the tombstones that all members hold, without waiting until they are 1 in 50 of all elements.
    pub fn collect_tombstones(&self) -> Result<()> {
        call(|e| unsafe { c::rocksync_collect_tombstones(self.db, e) })
    }

    /// Waits until a database that was plain has been read.
    pub fn wait_for_index_build(&self, timeout: Duration) -> Result<()> {
        call(|e| unsafe { c::rocksync_wait_for_index_build(self.db, milliseconds(timeout), e) })
    }

    /// Starts a replicator, which ends before the database does.
    pub fn replicate(&self, replication: &Replication) -> Result<Replicator<'_>> {
        let (listen, zone) = (text(&replication.listen)?, text(&replication.zone)?);
        let peers = replication.peers.iter().map(|peer| text(peer)).collect::<Result<Vec<_>>>()?;
        let transport = replication.certificates.transport(self.replica_id())?;
        unsafe {
            let options = Freed(c::rocksync_replicator_options_create(), c::rocksync_replicator_options_destroy);
            for peer in &peers {
                c::rocksync_replicator_options_add_peer(options.0, peer.as_ptr());
            }
            c::rocksync_replicator_options_set_listen_address(options.0, listen.as_ptr());
            c::rocksync_replicator_options_set_zone(options.0, zone.as_ptr());
            c::rocksync_replicator_options_set_interval_ms(options.0, milliseconds(replication.interval));
            c::rocksync_replicator_options_set_stream(options.0, replication.stream as c_uchar);
            c::rocksync_replicator_options_set_allow_clones(options.0, replication.allow_clones as c_uchar);
            c::rocksync_replicator_options_set_max_peers_per_interval(options.0, replication.max_peers_per_interval);
            c::rocksync_replicator_options_set_max_stream_peers(options.0, replication.max_stream_peers);
            c::rocksync_replicator_options_set_max_accepted(options.0, replication.max_accepted);
            let replicator = call(|e| c::rocksync_replicator_start(self.db, options.0, transport.0, e))?;
            self.running().push(replicator);
            Ok(Replicator { replicator, database: self })
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Vec<Handle>> {
        self.replicators.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Who a replica is to its peers.
#[derive(Clone)]
pub enum Certificates {
    /// A directory, for trials: the CA's key lies in it.
    Trial(String),
    /// PEM files.
    Files { ca: String, certificate: String, private_key: String },
}

impl Certificates {
    fn transport(&self, replica_id: u64) -> Result<Freed> {
        let transport = |ca, certificate, key| {
            let made = call(|e| unsafe { c::rocksync_tls_transport_create(ca, certificate, key, e) })?;
            Ok(Freed(made, c::rocksync_transport_destroy))
        };
        match self {
            Certificates::Trial(directory) => {
                let directory = text(directory)?;
                let mut paths = [null_mut(); 3];
                let [ca, certificate, key] = &mut paths;
                call(|e| unsafe {
                    c::rocksync_make_trial_certificate(directory.as_ptr(), replica_id, ca, certificate, key, e)
                })?;
                let made = transport(paths[0], paths[1], paths[2]);
                paths.iter().for_each(|path| unsafe { c::rocksync_free(*path as Handle) });
                made
            }
            Certificates::Files { ca, certificate, private_key } => {
                transport(text(ca)?.as_ptr(), text(certificate)?.as_ptr(), text(private_key)?.as_ptr())
            }
        }
    }
}

/// How a database is kept equal to its peers.
#[derive(Clone)]
pub struct Replication {
    pub certificates: Certificates,
    /// `host:port` of each.
    pub peers: Vec<String>,
    /// Where peers connect; empty: nowhere.
    pub listen: String,
    /// Between sessions with each peer; zero: only by `sync`, and no streams.
    pub interval: Duration,
    /// Between two zones each change travels once.
    pub zone: String,
    /// What is written travels at once, and not only by sessions.
    pub stream: bool,
    /// Who asks for a clone is served, and not refused.
    pub allow_clones: bool,
    /// With more peers, sessions with only so many of them in each interval, in turns; 0: with all.
    pub max_peers_per_interval: usize,
    /// With more peers streams to so many of them, which pass on what comes; 0: to all.
    pub max_stream_peers: usize,
    /// Connections that others open to here, at most.
    pub max_accepted: usize,
}

impl Replication {
    pub fn new(certificates: Certificates) -> Replication {
        let interval = Duration::from_secs(10);
        let (peers, listen, zone) = (Vec::new(), String::new(), String::new());
        let (max_peers_per_interval, max_stream_peers, max_accepted) = (8, 8, 64);
        let (stream, allow_clones) = (true, true);
        Replication {
            certificates, peers, listen, interval, zone, stream, allow_clones, max_peers_per_interval, max_stream_peers, max_accepted,
        }
    }
    pub fn listen(mut self, address: &str) -> Replication {
        self.listen = address.into();
        self
    }
    pub fn peer(mut self, address: &str) -> Replication {
        self.peers.push(address.into());
        self
    }
}

/// Why a key differs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    MissingHere,
    MissingThere,
    Version,
    Content,
}

/// What `Replicator::verify` found.
#[derive(Debug, Default)]
pub struct Verification {
    pub equal: bool,
    /// Why, the column family, and the key; at most as many as were asked for.
    pub differences: Vec<(Kind, String, Vec<u8>)>,
}

/// Keeps a database equal to its peers until it is dropped. Dropped in the function of an update of its database, or in
/// any callback of either, it would wait for itself: the program ends with a message.
pub struct Replicator<'a> {
    replicator: Handle,
    database: &'a Database,
}

unsafe impl Send for Replicator<'_> {}
unsafe impl Sync for Replicator<'_> {}

impl Replicator<'_> {
    /// Runs sessions with a peer until the two are proven equal. An error that
    /// begins with "Operation failed. Try again." or "Resource busy" passes by
    /// itself, but for a replicator that is paused; "Result incomplete" does
    /// not, unless it names quarantined pairs alone.
    pub fn sync(&self, peer: &str) -> Result<()> {
        let peer = text(peer)?;
        call(|e| unsafe { c::rocksync_replicator_sync(self.replicator, peer.as_ptr(), e) })
    }

    /// Compares with a peer and ships nothing. A key counts as different that still differs after `wait`.
    pub fn verify(&self, peer: &str, max_keys: u64, wait: Duration) -> Result<Verification> {
        let (peer, wait) = (text(peer)?, milliseconds(wait));
        let mut found = Verification::default();
        let state = &mut found.differences as *mut Vec<_> as Handle;
        let equal = call(|e| unsafe {
            c::rocksync_replicator_verify(self.replicator, peer.as_ptr(), max_keys, wait, state, Some(differs), null_mut(), e)
        })?;
        found.equal = equal != 0;
        Ok(found)
    }

    /// Compares all stored values with the index.
    pub fn scrub(&self) -> Result<()> {
        call(|e| unsafe { c::rocksync_replicator_scrub(self.replicator, e) })
    }

    /// From now on these addresses are the peers; sessions and streams with new ones begin at once.
    pub fn set_peers(&self, peers: &[&str]) -> Result<()> {
        let peers = peers.iter().map(|peer| text(peer)).collect::<Result<Vec<_>>>()?;
        let pointers: Vec<_> = peers.iter().map(|peer| peer.as_ptr()).collect();
        call(|e| unsafe { c::rocksync_replicator_set_peers(self.replicator, pointers.as_ptr(), pointers.len(), e) })
    }

    /// No session begins, and streams are closed, until `resume`. A session that runs goes on.
    pub fn pause(&self) {
        unsafe { c::rocksync_replicator_pause(self.replicator) }
    }

    pub fn resume(&self) {
        unsafe { c::rocksync_replicator_resume(self.replicator) }
    }

    /// The `rocksync_replicator_t`, for what of rocksync/c.h this crate lacks; it lives as long as `self`.
    pub fn handle(&self) -> *mut c_void {
        self.replicator
    }

    /// It has the port that the system chose if 0 was asked for.
    pub fn listen_address(&self) -> String {
        unsafe { taken(c::rocksync_replicator_listen_address(self.replicator)) }
    }

    /// One JSON object, as `rocksync status --json` has it.
    pub fn stats_json(&self) -> String {
        unsafe { taken(c::rocksync_replicator_stats_json(self.replicator)) }
    }
}

impl Drop for Replicator<'_> {
    fn drop(&mut self) {
        self.database.running().retain(|&replicator| replicator != self.replicator);
        unsafe { c::rocksync_replicator_destroy(self.replicator) }
    }
}

/// An object of the C interface, destroyed when it is dropped.
struct Freed(Handle, unsafe extern "C" fn(Handle));

impl Drop for Freed {
    fn drop(&mut self) {
        unsafe { (self.1)(self.0) }
    }
}

fn call<T>(function: impl FnOnce(c::Error) -> T) -> Result<T> {
    let mut error: *mut c_char = null_mut();
    let result = function(&mut error);
    if error.is_null() {
        Ok(result)
    } else {
        Err(Error(unsafe { taken(error) }))
    }
}

fn text(given: &str) -> Result<CString> {
    CString::new(given).map_err(|_| Error(format!("a zero byte in {given:?}")))
}

/// Its very bytes, UTF-8 or not.
fn path_text(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error(format!("a zero byte in {path:?}")))
}

/// Rounded up, as 0 has a meaning of its own.
fn milliseconds(duration: Duration) -> u64 {
    u64::try_from((duration.as_nanos() + 999_999) / 1_000_000).unwrap_or(u64::MAX)
}

unsafe fn taken(text: *mut c_char) -> String {
    let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
    c::rocksync_free(text as Handle);
    copy
}

unsafe fn copied(bytes: *const c_void, size: usize) -> Option<Vec<u8>> {
    (!bytes.is_null()).then(|| std::slice::from_raw_parts(bytes as *const u8, size).to_vec())
}

unsafe extern "C" fn differs(state: Handle, kind: c_int, family: *const u8, n: usize, key: *const u8, m: usize) {
    let kinds = [Kind::MissingHere, Kind::MissingThere, Kind::Version, Kind::Content];
    let family = copied(family as Handle, n).unwrap_or_default();
    (*(state as *mut Vec<(Kind, String, Vec<u8>)>)).push((
        kinds[kind as usize],
        String::from_utf8_lossy(&family).into_owned(),
        copied(key as Handle, m).unwrap_or_default(),
    ));
}

/// A closure, and what it panicked with: a panic must not pass through C.
struct ChangeOne<F> {
    change: Option<F>,
    panic: Option<Box<dyn Any + Send>>,
}

/// The C function that calls a closure of this one's type.
fn change_one_of<F: FnOnce(Option<Vec<u8>>) -> Option<Vec<u8>>>(_: &ChangeOne<F>) -> c::Change {
    unsafe extern "C" fn change<F: FnOnce(Option<Vec<u8>>) -> Option<Vec<u8>>>(state: Handle, values: Handle) -> c_uchar {
        let mut size = 0;
        let before = c::rocksync_values_get(values, 0, &mut size);
        let before = copied(before as Handle, size);
        let state = &mut *(state as *mut ChangeOne<F>);
        let closure = state.change.take();
        match catch_unwind(AssertUnwindSafe(|| closure.expect("called once")(before))) {
            Ok(Some(after)) => c::rocksync_values_set(values, 0, after.as_ptr(), after.len()),
            Ok(None) => c::rocksync_values_set(values, 0, null(), 0),
            Err(panic) => {
                state.panic = Some(panic);
                return 0; // the update fails
            }
        }
        1
    }
    change::<F>
}

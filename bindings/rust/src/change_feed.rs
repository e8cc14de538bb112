//! What peers change in a database, for a reader at its own pace.
use crate::c::{self, Handle};
use crate::{call, copied, milliseconds, Database, Result};
use std::time::Duration;

/// A change that came from a peer and is in the database. `get` has the value, or a later one.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedChange {
    pub family: String,
    pub key: Vec<u8>,
    pub deleted: bool,
    /// When it was written, in milliseconds since 1970, and by which replica. Both 0: the pair was adopted.
    pub time_ms: u64,
    pub replica_id: u64,
    /// The id of the peer that sent it, which need not have written it.
    pub source_id: u64,
    /// The replica knew the key.
    pub replaces: bool,
    /// What it knew: whether it was deleted, and when and by which replica it was written.
    pub replaced_deleted: bool,
    pub replaced_time_ms: u64,
    pub replaced_replica_id: u64,
}

/// What peers change, from `Database::subscribe` on. Sessions and streams do not wait for its reader. It may outlive its
/// database.
pub struct ChangeFeed {
    feed: Handle,
}

// One thread at a time: `next` borrows it mutably.
unsafe impl Send for ChangeFeed {}
unsafe impl Sync for ChangeFeed {}

impl Database {
    /// Begins a feed of what peers change from now on, for which so many bytes of memory are kept, at least 4096: what
    /// does not fit is counted and left out.
    pub fn subscribe(&self, buffer_bytes: usize) -> Result<ChangeFeed> {
        let feed = call(|e| unsafe { c::rocksync_subscribe(self.handle(), buffer_bytes, e) })?;
        Ok(ChangeFeed { feed })
    }
}

impl ChangeFeed {
    /// Waits until there are changes, at most `timeout`, and returns all there are, and how many more came behind them
    /// for which there was no room. Neither: none came. An error, once the database is closed and all was returned.
    pub fn next(&mut self, timeout: Duration) -> Result<(Vec<FeedChange>, u64)> {
        let mut missed = 0;
        let told = call(|e| unsafe { c::rocksync_change_feed_next(self.feed, milliseconds(timeout), &mut missed, e) })?;
        let count = unsafe { c::rocksync_changes_count(told) };
        Ok(((0..count).map(|i| unsafe { change(told, i) }).collect(), missed))
    }
}

impl Drop for ChangeFeed {
    fn drop(&mut self) {
        unsafe { c::rocksync_change_feed_destroy(self.feed) }
    }
}

unsafe fn change(told: Handle, i: usize) -> FeedChange {
    let bytes = |read: unsafe extern "C" fn(Handle, usize, *mut usize) -> *const u8| {
        let mut size = 0;
        let found = read(told, i, &mut size);
        copied(found as Handle, size)
    };
    FeedChange {
        family: String::from_utf8_lossy(&bytes(c::rocksync_changes_family).unwrap_or_default()).into_owned(),
        key: bytes(c::rocksync_changes_key).unwrap_or_default(),
        deleted: bytes(c::rocksync_changes_value).is_none(),
        time_ms: c::rocksync_changes_time_ms(told, i),
        replica_id: c::rocksync_changes_replica_id(told, i),
        source_id: c::rocksync_changes_source_id(told, i),
        replaces: c::rocksync_changes_replaces(told, i) != 0,
        replaced_deleted: c::rocksync_changes_replaced_tombstone(told, i) != 0,
        replaced_time_ms: c::rocksync_changes_replaced_time_ms(told, i),
        replaced_replica_id: c::rocksync_changes_replaced_replica_id(told, i),
    }
}

package rocksync

// #include <rocksync/c.h>
import "C"

import (
	"errors"
	"time"
	"unsafe"
)

// FeedChange is a change that came from a peer and is in the database. Get has
// the value, or a later one.
type FeedChange struct {
	Family    string
	Key       []byte
	Deleted   bool
	TimeMs    uint64 // since 1970, when it was written
	ReplicaID uint64 // and where; both 0: the pair was adopted
	SourceID  uint64 // of the peer that sent it, which need not have written it
	Replaces  bool   // the replica knew the key
	// What it knew: whether it was deleted, and when and where it was written.
	ReplacedDeleted   bool
	ReplacedTimeMs    uint64
	ReplacedReplicaID uint64
}

// ChangeFeed tells what peers change in a database, from Subscribe on. Sessions
// and streams do not wait for its reader. It may be closed after its database.
type ChangeFeed struct {
	guard   *guard
	reading chan struct{} // holds one while a goroutine reads: it is for one at a time
	feed    *C.rocksync_change_feed_t
}

// Subscribe begins a feed of what peers change from now on, for which so many
// bytes of memory are kept, at least 4096 (0 is refused, no default): what does not fit is counted and left
// out.
func (db *Database) Subscribe(bufferBytes uint64) (*ChangeFeed, error) {
	feed := &ChangeFeed{guard: newGuard(), reading: make(chan struct{}, 1)}
	failed := db.call(func(err **C.char) { feed.feed = C.rocksync_subscribe(db.db, C.size_t(bufferBytes), err) })
	if failed != nil {
		return nil, failed
	}
	return feed, nil
}

// Next waits until there are changes, at most timeout, and returns all there
// are, and how many more came behind them for which there was no room. Neither:
// none came, or another call waited all the time. Once the database is closed
// and all was returned it fails.
func (f *ChangeFeed) Next(timeout time.Duration) (changes []FeedChange, missed uint64, failed error) {
	if timeout < 0 {
		_, failed = milliseconds(timeout)
		return nil, 0, failed
	}
	if !f.guard.enter() {
		return nil, 0, errFeedClosed
	}
	defer f.guard.leave()
	until := time.Now().Add(timeout)
	if !f.beginReading(timeout) {
		return nil, 0, nil
	}
	defer func() { <-f.reading }()
	for {
		if f.guard.isClosing() {
			return nil, 0, errFeedClosed
		}
		slice, last := feedSlice, false
		if left := time.Until(until); left <= slice {
			slice, last = left, true
		}
		changes, missed, failed = f.fetch(slice)
		if len(changes) > 0 || missed > 0 || failed != nil || last {
			return changes, missed, failed
		}
	}
}

// beginReading is false if others read all the time.
func (f *ChangeFeed) beginReading(timeout time.Duration) bool {
	select {
	case f.reading <- struct{}{}:
		return true
	default:
	}
	over := time.NewTimer(timeout)
	defer over.Stop()
	select {
	case f.reading <- struct{}{}:
		return true
	case <-over.C:
		return false
	}
}

// A call waits in slices, between which it notices that the feed is being closed.
const feedSlice = 100 * time.Millisecond

var errFeedClosed = errors.New("rocksync: the change feed is closed, or never was begun")

func (f *ChangeFeed) fetch(timeout time.Duration) (changes []FeedChange, missed uint64, failed error) {
	var err *C.char
	var more C.uint64_t
	var ms C.uint64_t
	if timeout > 0 {
		ms, _ = milliseconds(timeout)
	}
	told := C.rocksync_change_feed_next(f.feed, ms, &more, &err)
	for i := C.size_t(0); i < C.rocksync_changes_count(told); i++ {
		changes = append(changes, feedChange(told, i))
	}
	return changes, uint64(more), takeError(err)
}

// Close ends a Next that waits for changes, with an error. A second call does
// nothing.
func (f *ChangeFeed) Close() {
	if !f.guard.shut(func() {}) {
		return
	}
	C.rocksync_change_feed_destroy(f.feed)
	f.feed = nil
	f.guard.end(true)
}

func feedChange(told *C.rocksync_changes_t, i C.size_t) FeedChange {
	var size C.size_t
	family := C.rocksync_changes_family(told, i, &size)
	change := FeedChange{Family: C.GoStringN(family, C.int(size))}
	key := C.rocksync_changes_key(told, i, &size)
	change.Key = C.GoBytes(unsafe.Pointer(key), C.int(size))
	change.Deleted = C.rocksync_changes_value(told, i, &size) == nil
	change.TimeMs = uint64(C.rocksync_changes_time_ms(told, i))
	change.ReplicaID = uint64(C.rocksync_changes_replica_id(told, i))
	change.SourceID = uint64(C.rocksync_changes_source_id(told, i))
	change.Replaces = C.rocksync_changes_replaces(told, i) != 0
	change.ReplacedDeleted = C.rocksync_changes_replaced_tombstone(told, i) != 0
	change.ReplacedTimeMs = uint64(C.rocksync_changes_replaced_time_ms(told, i))
	change.ReplacedReplicaID = uint64(C.rocksync_changes_replaced_replica_id(told, i))
	return change
}

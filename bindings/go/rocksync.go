// Package rocksync makes replicas of a RocksDB database equal, by
// librocksync.so (rocksync/c.h). What each call means, costs and refuses is in
// the library's C++ headers.
//
// It needs librocksync-dev, which has it in
// /usr/share/doc/librocksync-dev/bindings/go. From there or a source tree, in a
// go.mod:
//
//	require rocksync v0.0.0
//	replace rocksync => ../rocksync/bindings/go
//
// A Database and a Replicator may be used by several goroutines at once. Close
// each Replicator before its Database.
package rocksync

/*
#cgo LDFLAGS: -lrocksync -lrocksdb
#include <stdlib.h>
#include <rocksync/c.h>

// Of callbacks.go. cgo knows no const.
extern void rocksyncDiffers(void* state, int difference, char* family, size_t family_size, char* key, size_t key_size);
extern unsigned char rocksyncChange(void* state, rocksync_values_t* values);

static unsigned char Verify(rocksync_replicator_t* replicator, const char* peer, uint64_t max_keys, uint64_t wait_ms,
                            uintptr_t state, char** errptr) {
  return rocksync_replicator_verify(replicator, peer, max_keys, wait_ms, (void*)state,
      (void (*)(void*, int, const char*, size_t, const char*, size_t))rocksyncDiffers, NULL, errptr);
}
static void Update(rocksync_t* db, const rocksdb_writeoptions_t* options, const char* key, size_t size,
                   uintptr_t state, char** errptr) {
  rocksync_update(db, options, 1, NULL, &key, &size, (void*)state, rocksyncChange, errptr);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime/cgo"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"
)

// Must is the value of a call, for programs that have nothing else to do than
// to end with its error.
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// Check panics with the first error, if there is one.
func Check(errs ...error) {
	for _, err := range errs {
		if err != nil {
			panic(err)
		}
	}
}

// Options of a database.
type Options struct {
	Cluster string // its name
	Secret  []byte // 32 random bytes, the same on all replicas
	// For a checkpoint or a restored backup: it opens as a replica of its own.
	OpenCopyAsNewReplica bool
}

// Database is an open replicated database.
type Database struct {
	guard   *guard
	updates atomic.Int32 // under way
	db      *C.rocksync_t
	way     *C.rocksdb_t
	read    *C.rocksdb_readoptions_t
	write   *C.rocksdb_writeoptions_t
}

// Open opens the database in the directory path, and makes it if it is not
// there. A plain database is adopted in the background. Its one column family
// is the default one: a database that has others is refused, by their names.
func Open(path string, options Options) (*Database, error) {
	if err := noZeroByte(path, options.Cluster); err != nil {
		return nil, err
	}
	plain, replication := C.rocksdb_options_create(), C.rocksync_options_create()
	defer C.rocksdb_options_destroy(plain)
	defer C.rocksync_options_destroy(replication)
	var err *C.char
	C.rocksdb_options_set_create_if_missing(plain, 1)
	withText(options.Cluster, func(name *C.char) { C.rocksync_options_set_cluster_name(replication, name) })
	C.rocksync_options_set_open_copy_as_new_replica(replication, toByte(options.OpenCopyAsNewReplica))
	C.rocksync_options_set_cluster_secret(replication, pointer(options.Secret), C.size_t(len(options.Secret)), &err)
	if err != nil {
		return nil, takeError(err)
	}
	db := &Database{guard: newGuard()}
	withText(path, func(name *C.char) { db.db = C.rocksync_open(plain, replication, name, &err) })
	if err != nil {
		return nil, takeError(err)
	}
	db.way = C.rocksync_rocksdb(db.db, &err)
	db.read, db.write = C.rocksdb_readoptions_create(), C.rocksdb_writeoptions_create()
	return db, takeError(err)
}

// checkClose tells why the library would not close the database now.
func (db *Database) checkClose() (err *C.char) {
	C.rocksync_check_close(db.db, 1, 0, &err)
	return err
}

// Close waits for calls that are under way, and closes the database, whose
// replicators are closed. While an Update is under way it fails, as it may be
// the update's function that calls it. Where it fails, nothing has changed for
// other goroutines. A second call does nothing.
func (db *Database) Close() error {
	if db.updates.Load() > 0 {
		return errors.New("rocksync: an Update of the database is under way; close the database after it")
	}
	if !db.guard.enter() {
		return nil
	}
	err := db.checkClose()
	db.guard.leave()
	if err != nil || !db.guard.shut(func() {}) {
		return inGo(takeError(err))
	}
	if err = db.checkClose(); err != nil { // of what came about meanwhile
		db.guard.end(false)
		return inGo(takeError(err))
	}
	C.rocksdb_close(db.way)
	closed := C.rocksync_close(db.db, &err) != 0
	if closed {
		C.rocksdb_readoptions_destroy(db.read)
		C.rocksdb_writeoptions_destroy(db.write)
		db.db, db.way = nil, nil
	} else {
		var ignored *C.char
		db.way = C.rocksync_rocksdb(db.db, &ignored) // as open as before
	}
	db.guard.end(closed)
	return inGo(takeError(err))
}

// RocksDB is the rocksdb_t of the database, for other bindings, and Handle its
// rocksync_t, for what of rocksync/c.h this package lacks. Both live until
// Close, which does not wait for calls of theirs.
func (db *Database) RocksDB() unsafe.Pointer { return unsafe.Pointer(db.way) }

// Handle is the rocksync_t, see RocksDB.
func (db *Database) Handle() unsafe.Pointer { return unsafe.Pointer(db.db) }

// ReplicaID is what a certificate of the replica names, as 16 hex digits. 0:
// the database is closed.
func (db *Database) ReplicaID() uint64 {
	if !db.guard.enter() {
		return 0
	}
	defer db.guard.leave()
	return uint64(C.rocksync_replica_id(db.db))
}

// call runs a function of the library, unless the database is closed.
func (db *Database) call(function func(err **C.char)) error {
	if !db.guard.enter() {
		return errClosed
	}
	defer db.guard.leave()
	var err *C.char
	function(&err)
	return takeError(err)
}

// Put writes a pair of the default column family.
func (db *Database) Put(key, value []byte) error {
	return db.call(func(err **C.char) {
		C.rocksdb_put(db.way, db.write, text(key), C.size_t(len(key)), text(value), C.size_t(len(value)), err)
	})
}

// Get returns the value of a key, nil if it is not there.
func (db *Database) Get(key []byte) (value []byte, failed error) {
	failed = db.call(func(err **C.char) {
		var size C.size_t
		found := C.rocksdb_get(db.way, db.read, text(key), C.size_t(len(key)), &size, err)
		if found != nil {
			value = C.GoBytes(unsafe.Pointer(found), C.int(size))
			C.rocksdb_free(unsafe.Pointer(found))
		}
	})
	return value, failed
}

// Delete deletes a key, whether it is there or not.
func (db *Database) Delete(key []byte) error {
	return db.call(func(err **C.char) {
		C.rocksdb_delete(db.way, db.write, text(key), C.size_t(len(key)), err)
	})
}

// Update writes what change makes of a value, while no other goroutine and no
// session with a peer writes the key. nil is a key that is not there, and
// deletes one that is. change must not write to the database, and be quick. If
// it returns an error or panics, nothing is written, and so does Update. If it
// calls runtime.Goexit, as FailNow of package testing does, the program ends.
func (db *Database) Update(key []byte, change func(value []byte) ([]byte, error)) error {
	update := update{change: change}
	failed := db.call(func(err **C.char) {
		db.updates.Add(1)
		defer db.updates.Add(-1)
		handle := cgo.NewHandle(&update)
		defer handle.Delete()
		name := C.CBytes(key)
		defer C.free(name)
		C.Update(db.db, db.write, (*C.char)(name), C.size_t(len(key)), C.uintptr_t(handle), err)
	})
	if update.panicked {
		panic(update.reason)
	}
	if update.err != nil {
		return update.err
	}
	return failed
}

// SetMembers sets the list of all replicas of the cluster, on one of them;
// others take it over. Without a list tombstones are kept permanently. epoch must
// be greater than that of the list before; the first is 1.
func (db *Database) SetMembers(epoch uint64, replicaIDs ...uint64) error {
	return db.call(func(err **C.char) {
		ids := append(append([]uint64{}, replicaIDs...), 0) // so that there is a first one
		C.rocksync_set_members(db.db, C.uint64_t(epoch), (*C.uint64_t)(&ids[0]), C.size_t(len(ids)-1), err)
	})
}

// CollectTombstones collects those that all members hold, without waiting until
// they are 1 in 50 of all elements.
func (db *Database) CollectTombstones() error {
	return db.call(func(err **C.char) { C.rocksync_collect_tombstones(db.db, err) })
}

// WaitForIndexBuild waits until a database that was plain has been read.
func (db *Database) WaitForIndexBuild(timeout time.Duration) error {
	ms, failed := milliseconds(timeout)
	if failed != nil {
		return failed
	}
	return db.call(func(err **C.char) { C.rocksync_wait_for_index_build(db.db, ms, err) })
}

// Replication says how a database is kept equal to its peers.
type Replication struct {
	Peers    []string      // host:port
	Listen   string        // where peers connect; empty: nowhere
	Interval time.Duration // between sessions with each peer; 0: 10 s
	OnDemand bool          // sessions only by Sync, and no streams
	NoStream bool          // writes travel by sessions only
	NoClones bool          // who asks for a clone is refused
	Zone     string        // between two zones each change travels once
	// With more peers, sessions with only so many of them in each interval, in
	// turns; 0: 8.
	MaxPeersPerInterval int
	// With more peers streams to so many of them, which pass on what comes;
	// 0: 8.
	MaxStreamPeers int
	// Connections that others open to here; 0: 64.
	MaxAccepted int
	// A directory for certificates of trials, or else three PEM files.
	Certificates                string
	CA, Certificate, PrivateKey string
}

// All is no bound, of MaxPeersPerInterval and MaxStreamPeers.
const All = -1

// checkBounds refuses what C would take for a huge number.
func (replication Replication) checkBounds() error {
	if replication.MaxPeersPerInterval < All || replication.MaxStreamPeers < All || replication.MaxAccepted < 0 {
		return fmt.Errorf("rocksync: a negative bound: MaxPeersPerInterval %d, MaxStreamPeers %d, MaxAccepted %d",
			replication.MaxPeersPerInterval, replication.MaxStreamPeers, replication.MaxAccepted)
	}
	return nil
}

// setBounds leaves what is 0 at the library's default.
func (replication Replication) setBounds(options *C.rocksync_replicator_options_t) {
	if most := replication.MaxPeersPerInterval; most != 0 {
		C.rocksync_replicator_options_set_max_peers_per_interval(options, toBound(most))
	}
	if most := replication.MaxStreamPeers; most != 0 {
		C.rocksync_replicator_options_set_max_stream_peers(options, toBound(most))
	}
	if most := replication.MaxAccepted; most != 0 {
		C.rocksync_replicator_options_set_max_accepted(options, C.size_t(most))
	}
}

// toBound: 0 is no bound in C.
func toBound(most int) C.size_t {
	if most == All {
		return 0
	}
	return C.size_t(most)
}

// Replicator keeps a database equal to its peers until it is closed.
type Replicator struct {
	guard      *guard
	replicator *C.rocksync_replicator_t
}

// Replicate starts a replicator.
func (db *Database) Replicate(replication Replication) (*Replicator, error) {
	interval, failed := milliseconds(replication.Interval)
	if failed == nil {
		failed = noZeroByte(append([]string{replication.Listen, replication.Zone, replication.Certificates, replication.CA,
			replication.Certificate, replication.PrivateKey}, replication.Peers...)...)
	}
	if failed == nil {
		failed = replication.checkBounds()
	}
	if failed != nil {
		return nil, failed
	}
	if !db.guard.enter() {
		return nil, errClosed
	}
	defer db.guard.leave()
	transport, failed := db.transport(replication)
	if failed != nil {
		return nil, failed
	}
	defer C.rocksync_transport_destroy(transport)
	options := C.rocksync_replicator_options_create()
	defer C.rocksync_replicator_options_destroy(options)
	for _, peer := range replication.Peers {
		withText(peer, func(peer *C.char) { C.rocksync_replicator_options_add_peer(options, peer) })
	}
	withText(replication.Listen, func(address *C.char) { C.rocksync_replicator_options_set_listen_address(options, address) })
	withText(replication.Zone, func(zone *C.char) { C.rocksync_replicator_options_set_zone(options, zone) })
	C.rocksync_replicator_options_set_stream(options, toByte(!replication.NoStream))
	C.rocksync_replicator_options_set_allow_clones(options, toByte(!replication.NoClones))
	replication.setBounds(options)
	if replication.OnDemand {
		C.rocksync_replicator_options_set_interval_ms(options, 0)
	} else if replication.Interval != 0 {
		C.rocksync_replicator_options_set_interval_ms(options, interval)
	}
	var err *C.char
	replicator := C.rocksync_replicator_start(db.db, options, transport, &err)
	if err != nil {
		return nil, takeError(err)
	}
	return &Replicator{newGuard(), replicator}, nil
}

func (db *Database) transport(replication Replication) (*C.rocksync_transport_t, error) {
	var err, ca, certificate, key *C.char
	if replication.Certificates != "" {
		if replication.CA != "" || replication.Certificate != "" || replication.PrivateKey != "" {
			return nil, errors.New("rocksync: give Certificates, for trials, or CA, Certificate and PrivateKey, not both")
		}
		withText(replication.Certificates, func(directory *C.char) {
			C.rocksync_make_trial_certificate(directory, C.rocksync_replica_id(db.db), &ca, &certificate, &key, &err)
		})
		if err != nil {
			return nil, takeError(err)
		}
	} else {
		ca, certificate, key = C.CString(replication.CA), C.CString(replication.Certificate), C.CString(replication.PrivateKey)
	}
	defer C.rocksync_free(unsafe.Pointer(ca))
	defer C.rocksync_free(unsafe.Pointer(certificate))
	defer C.rocksync_free(unsafe.Pointer(key))
	transport := C.rocksync_tls_transport_create(ca, certificate, key, &err)
	return transport, takeError(err)
}

// Close ends its sessions and streams, and calls that are under way. A second
// call does nothing. In the function of an Update of its database, and in any
// callback of either, it would wait for itself: the program ends with a message.
func (r *Replicator) Close() {
	if !r.guard.shut(func() { C.rocksync_replicator_stop(r.replicator) }) {
		return
	}
	C.rocksync_replicator_destroy(r.replicator)
	r.replicator = nil
	r.guard.end(true)
}

// Handle is the rocksync_replicator_t, for what of rocksync/c.h this package
// lacks. It lives until Close, which does not wait for calls of it.
func (r *Replicator) Handle() unsafe.Pointer { return unsafe.Pointer(r.replicator) }

// call runs a function of the library, unless the replicator is closed.
func (r *Replicator) call(function func(err **C.char)) error {
	if !r.guard.enter() {
		return errors.New("rocksync: the replicator is closed, or never was started")
	}
	defer r.guard.leave()
	var err *C.char
	function(&err)
	return takeError(err)
}

// Sync runs sessions with a peer until the two are proven equal. An error that
// begins with "Operation failed. Try again." or "Resource busy" passes by
// itself, but for a replicator that is paused; "Result incomplete" does not,
// unless it names quarantined pairs alone.
func (r *Replicator) Sync(peer string) error {
	if err := noZeroByte(peer); err != nil {
		return err
	}
	return r.call(func(err **C.char) {
		withText(peer, func(peer *C.char) { C.rocksync_replicator_sync(r.replicator, peer, err) })
	})
}

// Difference is a key that differs: "missing_here", "missing_there", by
// "version" or by "content".
type Difference struct {
	Kind   string
	Family string
	Key    []byte
}

// Verification is what Verify found.
type Verification struct {
	Equal       bool
	Differences []Difference // at most as many as were asked for
}

// Verify compares with a peer and ships nothing. A key counts as different that
// still differs after wait.
func (r *Replicator) Verify(peer string, maxKeys uint64, wait time.Duration) (Verification, error) {
	var found Verification
	ms, failed := milliseconds(wait)
	if failed == nil {
		failed = noZeroByte(peer)
	}
	if failed != nil {
		return found, failed
	}
	failed = r.call(func(err **C.char) {
		handle := cgo.NewHandle(&found)
		defer handle.Delete()
		withText(peer, func(peer *C.char) {
			found.Equal = C.Verify(r.replicator, peer, C.uint64_t(maxKeys), ms, C.uintptr_t(handle), err) != 0
		})
	})
	return found, failed
}

// Scrub compares all stored values with the index.
func (r *Replicator) Scrub() error {
	return r.call(func(err **C.char) { C.rocksync_replicator_scrub(r.replicator, err) })
}

// SetPeers says which addresses are the peers from now on; sessions and streams
// with new ones begin at once.
func (r *Replicator) SetPeers(peers ...string) error {
	if failed := noZeroByte(peers...); failed != nil {
		return failed
	}
	return r.call(func(err **C.char) {
		size := C.size_t(len(peers)+1) * C.size_t(unsafe.Sizeof((*C.char)(nil)))
		memory := C.malloc(size)
		defer C.free(memory)
		texts := unsafe.Slice((**C.char)(memory), len(peers)+1)
		for i, peer := range peers {
			texts[i] = C.CString(peer)
			defer C.free(unsafe.Pointer(texts[i]))
		}
		C.rocksync_replicator_set_peers(r.replicator, (**C.char)(memory), C.size_t(len(peers)), err)
	})
}

// Pause lets no session begin and closes streams, until Resume. A session that
// runs goes on.
func (r *Replicator) Pause() error {
	return r.call(func(**C.char) { C.rocksync_replicator_pause(r.replicator) })
}

// Resume undoes Pause.
func (r *Replicator) Resume() error {
	return r.call(func(**C.char) { C.rocksync_replicator_resume(r.replicator) })
}

// ListenAddress has the port that the system chose if 0 was asked for. Empty:
// it does not listen, or is closed.
func (r *Replicator) ListenAddress() (address string) {
	r.call(func(**C.char) { address = takeText(C.rocksync_replicator_listen_address(r.replicator)) })
	return address
}

// StatsJSON is one JSON object, as `rocksync status --json` has it. Empty: the
// replicator is closed.
func (r *Replicator) StatsJSON() (json string) {
	r.call(func(**C.char) { json = takeText(C.rocksync_replicator_stats_json(r.replicator)) })
	return json
}

var errClosed = errors.New("rocksync: the database is closed, or never was opened")

// inGo is an error whose remedy is in this package's words.
func inGo(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.ReplaceAll(err.Error(), "call rocksync_replicator_destroy first", "close them first"))
}

// milliseconds rounds up, as 0 has a meaning of its own.
func milliseconds(duration time.Duration) (C.uint64_t, error) {
	if duration < 0 {
		return 0, fmt.Errorf("rocksync: a duration of %v", duration)
	}
	whole := duration.Milliseconds()
	if duration > time.Duration(whole)*time.Millisecond {
		whole++
	}
	return C.uint64_t(whole), nil
}

// noZeroByte: the library would take what is before the byte for the whole.
func noZeroByte(texts ...string) error {
	for _, text := range texts {
		if strings.IndexByte(text, 0) >= 0 {
			return fmt.Errorf("rocksync: a zero byte in %q", text)
		}
	}
	return nil
}

func takeText(text *C.char) string {
	defer C.rocksync_free(unsafe.Pointer(text))
	return C.GoString(text)
}

func takeError(err *C.char) error {
	if err == nil {
		return nil
	}
	return errors.New(takeText(err))
}

func withText(text string, use func(*C.char)) {
	copied := C.CString(text)
	defer C.free(unsafe.Pointer(copied))
	use(copied)
}

func toByte(value bool) C.uchar {
	if value {
		return 1
	}
	return 0
}

// pointer is not nil for no bytes, as the library asks for.
func pointer(bytes []byte) unsafe.Pointer {
	if len(bytes) == 0 {
		return unsafe.Pointer(&[1]byte{})
	}
	return unsafe.Pointer(&bytes[0])
}

func text(bytes []byte) *C.char { return (*C.char)(pointer(bytes)) }

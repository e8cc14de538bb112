// Package rocksync makes replicas of a RocksDB database equal, by
// librocksync.so (rocksync/c.h). What each call means, costs and refuses is in
// the library's C++ headers.
//
// It needs librocksync-dev. From a source tree, in a go.mod:
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
	"runtime/cgo"
	"time"
	"unsafe"
)

// Must is the value of a call, for programs that have nothing else to do than
// to end with its error.
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// Check ends the program with the first error, if there is one.
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
	db    *C.rocksync_t
	way   *C.rocksdb_t
	read  *C.rocksdb_readoptions_t
	write *C.rocksdb_writeoptions_t
}

// Open opens the database in the directory path, and makes it if it is not
// there. A plain database is adopted in the background.
func Open(path string, options Options) (*Database, error) {
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
	db := &Database{}
	withText(path, func(name *C.char) { db.db = C.rocksync_open(plain, replication, name, &err) })
	if err != nil {
		return nil, takeError(err)
	}
	db.way = C.rocksync_rocksdb(db.db, &err)
	db.read, db.write = C.rocksdb_readoptions_create(), C.rocksdb_writeoptions_create()
	return db, takeError(err)
}

// Close closes the database, whose replicators are closed. A second call does
// nothing.
func (db *Database) Close() error {
	if db.db == nil {
		return nil
	}
	C.rocksdb_close(db.way)
	var err *C.char
	if C.rocksync_close(db.db, &err) == 0 {
		var ignored *C.char
		db.way = C.rocksync_rocksdb(db.db, &ignored) // as open as before
		return takeError(err)
	}
	C.rocksdb_readoptions_destroy(db.read)
	C.rocksdb_writeoptions_destroy(db.write)
	*db = Database{}
	return takeError(err)
}

// RocksDB is the rocksdb_t of the database, for other bindings; it lives until
// Close.
func (db *Database) RocksDB() unsafe.Pointer { return unsafe.Pointer(db.way) }

// ReplicaID is what a certificate of the replica names.
func (db *Database) ReplicaID() uint64 { return uint64(C.rocksync_replica_id(db.db)) }

// Put writes a pair of the default column family.
func (db *Database) Put(key, value []byte) error {
	if db.way == nil {
		return errClosed
	}
	var err *C.char
	C.rocksdb_put(db.way, db.write, text(key), C.size_t(len(key)), text(value), C.size_t(len(value)), &err)
	return takeError(err)
}

// Get returns the value of a key, nil if it is not there.
func (db *Database) Get(key []byte) ([]byte, error) {
	if db.way == nil {
		return nil, errClosed
	}
	var err *C.char
	var size C.size_t
	value := C.rocksdb_get(db.way, db.read, text(key), C.size_t(len(key)), &size, &err)
	if value == nil {
		return nil, takeError(err)
	}
	defer C.rocksdb_free(unsafe.Pointer(value))
	return C.GoBytes(unsafe.Pointer(value), C.int(size)), nil
}

// Delete deletes a key, whether it is there or not.
func (db *Database) Delete(key []byte) error {
	if db.way == nil {
		return errClosed
	}
	var err *C.char
	C.rocksdb_delete(db.way, db.write, text(key), C.size_t(len(key)), &err)
	return takeError(err)
}

// Modify writes what change makes of a value, while no other goroutine and no
// session with a peer writes the key. nil is a key that is not there, and
// deletes one that is. change must not write to the database, and be quick. If
// it returns an error, nothing is written.
func (db *Database) Modify(key []byte, change func(value []byte) ([]byte, error)) error {
	if db.way == nil {
		return errClosed
	}
	update := update{change: change}
	handle := cgo.NewHandle(&update)
	defer handle.Delete()
	var err *C.char
	name := C.CBytes(key)
	defer C.free(name)
	C.Update(db.db, db.write, (*C.char)(name), C.size_t(len(key)), C.uintptr_t(handle), &err)
	if failed := takeError(err); update.err == nil {
		return failed
	}
	return update.err
}

// Replication says how a database is kept equal to its peers.
type Replication struct {
	Peers    []string      // host:port
	Listen   string        // where peers connect; empty: nowhere
	Interval time.Duration // between sessions with each peer; 0: 10 s
	OnDemand bool          // sessions only by Sync
	Zone     string        // between two zones each change travels once
	// A directory for certificates of trials, or else three PEM files.
	Certificates                string
	CA, Certificate, PrivateKey string
}

// Replicator keeps a database equal to its peers until it is closed.
type Replicator struct{ replicator *C.rocksync_replicator_t }

// Replicate starts a replicator.
func (db *Database) Replicate(replication Replication) (*Replicator, error) {
	if db.way == nil {
		return nil, errClosed
	}
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
	if replication.OnDemand {
		C.rocksync_replicator_options_set_interval_ms(options, 0)
	} else if replication.Interval != 0 {
		C.rocksync_replicator_options_set_interval_ms(options, C.uint64_t(replication.Interval.Milliseconds()))
	}
	var err *C.char
	replicator := C.rocksync_replicator_start(db.db, options, transport, &err)
	if err != nil {
		return nil, takeError(err)
	}
	return &Replicator{replicator}, nil
}

func (db *Database) transport(replication Replication) (*C.rocksync_transport_t, error) {
	var err, ca, certificate, key *C.char
	if replication.Certificates != "" {
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

// Close ends its sessions and streams. A second call does nothing.
func (r *Replicator) Close() {
	C.rocksync_replicator_destroy(r.replicator)
	r.replicator = nil
}

// Sync runs sessions with a peer until the two are proven equal.
func (r *Replicator) Sync(peer string) error {
	var err *C.char
	withText(peer, func(peer *C.char) { C.rocksync_replicator_sync(r.replicator, peer, &err) })
	return takeError(err)
}

// Difference is a key that differs: "missing here", "missing there", by
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
	handle := cgo.NewHandle(&found)
	defer handle.Delete()
	var err *C.char
	withText(peer, func(peer *C.char) {
		found.Equal = C.Verify(r.replicator, peer, C.uint64_t(maxKeys), C.uint64_t(wait.Milliseconds()), C.uintptr_t(handle), &err) != 0
	})
	return found, takeError(err)
}

// ListenAddress has the port that the system chose if 0 was asked for.
func (r *Replicator) ListenAddress() string {
	return takeText(C.rocksync_replicator_listen_address(r.replicator))
}

// StatisticsJSON is one JSON object, as `rocksync status --json` has it.
func (r *Replicator) StatisticsJSON() string {
	return takeText(C.rocksync_replicator_statistics_json(r.replicator))
}

var errClosed = errors.New("rocksync: the database is closed")

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

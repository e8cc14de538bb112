// Two replicas of a database, which are made equal: go run two_replicas.go
package main

/*
#cgo LDFLAGS: -lrocksync -lrocksdb
#include <stdlib.h>
#include <rocksync/c.h>
*/
import "C"

import (
	"bytes"
	"fmt"
	"unsafe"
)

// check ends the program with the error of a call, if there is one.
func check(err *C.char) {
	if err != nil {
		panic(C.GoString(err))
	}
}

func open(path string) (*C.rocksync_t, *C.rocksdb_t) {
	var err *C.char
	options, replication := C.rocksdb_options_create(), C.rocksync_options_create()
	C.rocksdb_options_set_create_if_missing(options, 1)
	C.rocksync_options_set_cluster_name(replication, C.CString("orders"))
	secret := C.CBytes(bytes.Repeat([]byte{42}, 32)) // yours: random, and the same on all replicas
	C.rocksync_options_set_cluster_secret(replication, secret, 32, &err)
	db := C.rocksync_open(options, replication, C.CString(path), &err)
	check(err)
	return db, C.rocksync_rocksdb(db, &err) // a *C.rocksdb_t for any binding
}


func put(db *C.rocksdb_t, key, value string) {
	var err *C.char
	C.rocksdb_put(db, C.rocksdb_writeoptions_create(), C.CString(key), C.size_t(len(key)), C.CString(value), C.size_t(len(value)), &err)
	check(err)
}

func replicate(db *C.rocksync_t, listen string) *C.rocksync_replicator_t {
	var ca, certificate, key, err *C.char
	C.rocksync_make_trial_certificate(C.CString("trial"), C.rocksync_replica_id(db), &ca, &certificate, &key, &err)
	check(err)
	transport := C.rocksync_tls_transport_create(ca, certificate, key, &err)
	check(err)
	options := C.rocksync_replicator_options_create()
	C.rocksync_replicator_options_set_listen_address(options, C.CString(listen))
	replicator := C.rocksync_replicator_start(db, options, transport, &err)
	check(err)
	return replicator
}

func main() {
	a, inA := open("a")
	b, inB := open("b")
	put(inA, "from a", "1")
	put(inB, "from b", "2")
	ofA, ofB := replicate(a, "127.0.0.1:0"), replicate(b, "")

	var err *C.char
	peer := C.rocksync_replicator_listen_address(ofA)
	C.rocksync_replicator_sync(ofB, peer, &err)
	check(err)
	fmt.Println("equal:", C.rocksync_replicator_verify(ofB, peer, 1, 0, unsafe.Pointer(nil), nil, &err) == 1)

	C.rocksync_replicator_destroy(ofB)
	C.rocksync_replicator_destroy(ofA)
	C.rocksdb_close(inA)
	C.rocksdb_close(inB)
	C.rocksync_close(a, &err)
	check(err)
	C.rocksync_close(b, &err)
	check(err)
}

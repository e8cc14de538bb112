// Two replicas of a database, which are made equal.
package main

import (
	"bytes"
	"fmt"
	"rocksync"
)

func main() {
	options := rocksync.Options{Cluster: "orders", Secret: bytes.Repeat([]byte{42}, 32)} // yours: random
	a, b := rocksync.Must(rocksync.Open("a", options)), rocksync.Must(rocksync.Open("b", options))
	defer a.Close()
	defer b.Close()
	rocksync.Check(a.Put([]byte("from a"), []byte("1")), b.Put([]byte("from b"), []byte("2")))
	ofA := rocksync.Must(a.Replicate(rocksync.Replication{Certificates: "trial", Listen: "127.0.0.1:0"}))
	defer ofA.Close()
	ofB := rocksync.Must(b.Replicate(rocksync.Replication{Certificates: "trial"}))
	defer ofB.Close()
	rocksync.Check(ofB.Sync(ofA.ListenAddress()))
	fmt.Println("equal:", rocksync.Must(ofB.Verify(ofA.ListenAddress(), 1, 0)).Equal)
}

// What the Go package does beside the example: values, Modify, differences, and
// what happens when it is used wrongly.
package rocksync_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"rocksync"
	"strings"
	"sync"
	"testing"
)

func open(t *testing.T, name string) *rocksync.Database {
	t.Helper()
	db, err := rocksync.Open(name, rocksync.Options{Cluster: "test", Secret: bytes.Repeat([]byte{7}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func fails(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("expected %q, got %v", text, err)
	}
}

func holds(t *testing.T, db *rocksync.Database, key string, value []byte) {
	t.Helper()
	got := rocksync.Must(db.Get([]byte(key)))
	if !bytes.Equal(got, value) || (got == nil) != (value == nil) {
		t.Errorf("%s is %q, not %q", key, got, value)
	}
}

func TestValues(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "a"))
	rocksync.Check(db.Put([]byte("\x00k"), []byte("v\x00")), db.Put([]byte("empty"), nil), db.Put([]byte("gone"), []byte("1")))
	rocksync.Check(db.Delete([]byte("gone")))
	holds(t, db, "\x00k", []byte("v\x00"))
	holds(t, db, "empty", []byte{})
	holds(t, db, "gone", nil)
	rocksync.Check(db.Close(), db.Close())
	fails(t, db.Put([]byte("k"), nil), "closed")
	_, err := db.Get([]byte("k"))
	fails(t, err, "closed")
	_, err = db.Replicate(rocksync.Replication{})
	fails(t, err, "closed")
	_, err = rocksync.Open("x", rocksync.Options{Cluster: "test", Secret: []byte("short")})
	fails(t, err, "32 bytes, not 5")
}

func TestModify(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "a"))
	var wait sync.WaitGroup
	for i := 0; i < 4; i++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for j := 0; j < 100; j++ {
				rocksync.Check(db.Modify([]byte("n"), func(value []byte) ([]byte, error) {
					var n int
					fmt.Sscan(string(value), &n)
					return []byte(fmt.Sprint(n + 1)), nil
				}))
			}
		}()
	}
	wait.Wait()
	holds(t, db, "n", []byte("400"))
	enough := errors.New("enough")
	if err := db.Modify([]byte("n"), func([]byte) ([]byte, error) { return nil, enough }); err != enough {
		t.Error(err)
	}
	holds(t, db, "n", []byte("400"))
	rocksync.Check(db.Modify([]byte("n"), func([]byte) ([]byte, error) { return nil, nil }))
	holds(t, db, "n", nil)
	rocksync.Check(db.Close())
}

func TestDifferencesAndWrongOrder(t *testing.T) {
	directory := t.TempDir()
	a, b := open(t, filepath.Join(directory, "a")), open(t, filepath.Join(directory, "b"))
	trial := filepath.Join(directory, "trial")
	rocksync.Check(a.Put([]byte("of a"), nil))
	ofA := rocksync.Must(a.Replicate(rocksync.Replication{Certificates: trial, Listen: "127.0.0.1:0", OnDemand: true}))
	ofB := rocksync.Must(b.Replicate(rocksync.Replication{Certificates: trial, OnDemand: true, Zone: "east"}))
	found := rocksync.Must(ofB.Verify(ofA.ListenAddress(), 10, 0))
	if found.Equal || len(found.Differences) != 1 || found.Differences[0].Kind != "missing here" ||
		string(found.Differences[0].Key) != "of a" || found.Differences[0].Family != "default" {
		t.Errorf("%+v", found)
	}
	fails(t, b.Close(), "rocksync_replicator_destroy first")
	rocksync.Check(b.Put([]byte("still open"), nil))
	if !strings.Contains(ofB.StatisticsJSON(), "\"pairs_applied\":0,") {
		t.Error(ofB.StatisticsJSON())
	}
	ofB.Close()
	ofB.Close()
	fails(t, ofB.Sync("127.0.0.1:1"), "argument is NULL: replicator")
	_, err := b.Replicate(rocksync.Replication{CA: "none", Certificate: "none", PrivateKey: "none"})
	fails(t, err, "none")
	ofA.Close()
	rocksync.Check(a.Close(), b.Close())
}

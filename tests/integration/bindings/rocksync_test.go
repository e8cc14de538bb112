// What the Go package does beside the example: values, Update, differences, and
// what happens when it is used wrongly.
package rocksync_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"rocksync"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
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

func TestUpdate(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "a"))
	var wait sync.WaitGroup
	for i := 0; i < 4; i++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for j := 0; j < 100; j++ {
				rocksync.Check(db.Update([]byte("n"), func(value []byte) ([]byte, error) {
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
	if err := db.Update([]byte("n"), func([]byte) ([]byte, error) { return nil, enough }); err != enough {
		t.Error(err)
	}
	holds(t, db, "n", []byte("400"))
	rocksync.Check(db.Update([]byte("n"), func([]byte) ([]byte, error) { return nil, nil }))
	holds(t, db, "n", nil)
	fails(t, db.Update([]byte("n"), func([]byte) ([]byte, error) { return nil, db.Close() }), "after it")
	rocksync.Check(db.Close())
}

// The lock of the key is released, and the panic arrives.
func TestAPanicInUpdate(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "a"))
	func() {
		defer func() {
			if reason := recover(); reason != "of the function" {
				t.Errorf("recovered %v", reason)
			}
		}()
		db.Update([]byte("k"), func([]byte) ([]byte, error) { panic("of the function") })
		t.Error("no panic")
	}()
	rocksync.Check(db.Put([]byte("k"), []byte("after")), db.Close())
}

// In a process of its own, which ends and does not hang.
func TestAGoexitInUpdate(t *testing.T) {
	if place := os.Getenv("ROCKSYNC_TEST_GOEXIT"); place != "" {
		db := open(t, place)
		done := make(chan bool)
		go func() {
			defer close(done)
			db.Update([]byte("k"), func([]byte) ([]byte, error) {
				runtime.Goexit()
				return nil, nil
			})
		}()
		<-done
		rocksync.Check(db.Put([]byte("k"), nil))
		return
	}
	process := exec.Command(os.Args[0], "-test.run", "^TestAGoexitInUpdate$")
	process.Env = append(os.Environ(), "ROCKSYNC_TEST_GOEXIT="+filepath.Join(t.TempDir(), "a"))
	said, err := process.CombinedOutput()
	if process.ProcessState.ExitCode() != 2 || !strings.Contains(string(said), "runtime.Goexit") {
		t.Errorf("%v: %s", err, said)
	}
}

// Close waits for calls, ends those that take long, and happens once.
func TestCloseWhileOthersCall(t *testing.T) {
	directory := t.TempDir()
	db := open(t, filepath.Join(directory, "a"))
	replicator := rocksync.Must(db.Replicate(rocksync.Replication{Certificates: filepath.Join(directory, "trial"), Listen: "127.0.0.1:0"}))
	var calling, done sync.WaitGroup
	for i := 0; i < 4; i++ {
		calling.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			calling.Done()
			for replicator.StatsJSON() != "" && replicator.ListenAddress() != "" {
			}
			for db.Put([]byte("k"), []byte("v")) == nil {
				db.Get([]byte("k"))
			}
		}()
	}
	calling.Wait()
	for i := 0; i < 4; i++ {
		done.Add(1)
		go func() {
			defer done.Done()
			replicator.Close()
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}()
	}
	done.Wait()
	if replicator.ListenAddress() != "" || db.ReplicaID() != 0 {
		t.Error("not closed")
	}
}

func TestWhatIsRefused(t *testing.T) {
	directory := t.TempDir()
	secret := bytes.Repeat([]byte{7}, 32)
	_, err := rocksync.Open(filepath.Join(directory, "a\x00b"), rocksync.Options{Cluster: "test", Secret: secret})
	fails(t, err, "zero byte")
	_, err = rocksync.Open(filepath.Join(directory, "a"), rocksync.Options{Cluster: "te\x00st", Secret: secret})
	fails(t, err, "zero byte")
	if found, _ := filepath.Glob(filepath.Join(directory, "*")); len(found) != 0 {
		t.Errorf("made %v", found)
	}
	db := open(t, filepath.Join(directory, "a"))
	_, err = db.Replicate(rocksync.Replication{Certificates: directory, Peers: []string{"127.0.0.1:1\x00"}})
	fails(t, err, "zero byte")
	_, err = db.Replicate(rocksync.Replication{Certificates: directory, Interval: -time.Second})
	fails(t, err, "duration of -1s")
	_, err = db.Replicate(rocksync.Replication{Certificates: directory, CA: "ca.pem"})
	fails(t, err, "not both")
	// Under a millisecond is no 0, which would be on demand.
	replicator := rocksync.Must(db.Replicate(rocksync.Replication{Certificates: directory, Interval: time.Microsecond, Peers: []string{"127.0.0.1:1"}}))
	for tries := 0; !strings.Contains(replicator.StatsJSON(), "\"sessions_failed\":1"); tries++ {
		if tries == 600 {
			t.Fatal("nothing is dialed: " + replicator.StatsJSON())
		}
		time.Sleep(100 * time.Millisecond)
	}
	fails(t, replicator.Sync("a\x00b"), "zero byte")
	replicator.Close()
	rocksync.Check(db.Close())
}

// A call that is under way goes on, and so do others.
func TestARefusedCloseChangesNothing(t *testing.T) {
	directory := t.TempDir()
	db := open(t, filepath.Join(directory, "a"))
	replicator := rocksync.Must(db.Replicate(rocksync.Replication{Certificates: filepath.Join(directory, "trial"), Listen: "127.0.0.1:0"}))
	stop := make(chan bool)
	var calling, done sync.WaitGroup
	for i := 0; i < 4; i++ {
		calling.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			for tries := 0; ; tries++ {
				if err := db.Put([]byte("k"), []byte("v")); err != nil {
					t.Error(err)
				}
				if tries == 0 {
					calling.Done()
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
	}
	calling.Wait()
	for i := 0; i < 100; i++ {
		fails(t, db.Close(), "close them first")
	}
	close(stop)
	done.Wait()
	replicator.Close()
	rocksync.Check(db.Close())
}

func TestZeroValues(t *testing.T) {
	var db rocksync.Database
	_, err := db.Get([]byte("k"))
	fails(t, err, "never was opened")
	fails(t, db.Put([]byte("k"), nil), "never was opened")
	_, err = db.Replicate(rocksync.Replication{})
	fails(t, err, "never was opened")
	if db.ReplicaID() != 0 || db.Close() != nil {
		t.Error("opened")
	}
	var replicator rocksync.Replicator
	fails(t, replicator.Sync("127.0.0.1:1"), "never was started")
	replicator.Close()
}

func TestBounds(t *testing.T) {
	trial := rocksync.Replication{Certificates: filepath.Join(t.TempDir(), "trial"), OnDemand: true}
	start := func(replication rocksync.Replication) (*rocksync.Database, *rocksync.Replicator) {
		db := open(t, filepath.Join(t.TempDir(), "db"))
		return db, rocksync.Must(db.Replicate(replication))
	}
	one := trial
	one.Listen, one.MaxAccepted = "127.0.0.1:0", 1
	a, ofA := start(one)
	b, ofB := start(trial)
	c, ofC := start(trial)
	rocksync.Check(ofB.Sync(ofA.ListenAddress())) // which keeps its connection
	fails(t, ofC.Sync(ofA.ListenAddress()), "all 1 connections are taken; raise max_accepted")
	ofC.Close()

	listening := trial
	listening.Listen, listening.OnDemand = "127.0.0.1:0", false
	d, ofD := start(listening)
	e, ofE := start(listening)
	few := trial
	few.Peers, few.OnDemand = []string{ofD.ListenAddress(), ofE.ListenAddress()}, false
	few.Interval, few.MaxStreamPeers = 50*time.Millisecond, 1
	ofC = rocksync.Must(c.Replicate(few))
	// That of all streams, and that of a peer.
	for strings.Contains(ofC.StatsJSON(), `"last_proven_equal_ms":0,`) || !strings.Contains(ofC.StatsJSON(), `"open":1,`) {
		time.Sleep(10 * time.Millisecond)
	}
	if stats := ofC.StatsJSON(); strings.Contains(stats, `"open":2,`) {
		t.Errorf("two streams: %s", stats)
	}
	ofC.Close()
	few.Interval, few.MaxStreamPeers, few.MaxPeersPerInterval, few.NoStream = time.Hour, rocksync.All, 1, true
	few.Peers = nil
	ofC = rocksync.Must(c.Replicate(few))
	rocksync.Check(ofC.SetPeers(ofD.ListenAddress(), ofE.ListenAddress()))
	for strings.Contains(ofC.StatsJSON(), `"last_proven_equal_ms":0,`) {
		time.Sleep(10 * time.Millisecond)
	}
	// The turn of the third one comes within the hour.
	rocksync.Check(ofC.SetPeers(ofD.ListenAddress(), ofE.ListenAddress(), "127.0.0.1:1"))
	for i := 0; i < 50; i++ {
		rocksync.Check(ofC.Sync(ofD.ListenAddress()))
	}
	if stats := ofC.StatsJSON(); strings.Count(stats, `"sessions_failed":0,`) != 4 {
		t.Errorf("a peer was met before its turn: %s", stats)
	}
	for _, replicator := range []*rocksync.Replicator{ofA, ofB, ofC, ofD, ofE} {
		replicator.Close()
	}
	few.MaxAccepted = -1
	_, err := c.Replicate(few)
	fails(t, err, "negative bound")
	rocksync.Check(a.Close(), b.Close(), c.Close(), d.Close(), e.Close())
}

func TestMembers(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "a"))
	rocksync.Check(db.WaitForIndexBuild(time.Minute))
	fails(t, db.SetMembers(1), "lacks replica")
	fails(t, db.SetMembers(1, db.ReplicaID(), 0), "is 0 or there twice")
	rocksync.Check(db.SetMembers(1, db.ReplicaID()), db.CollectTombstones())
	fails(t, db.SetMembers(1, db.ReplicaID()), "does not follow")
	if db.Handle() == nil || db.RocksDB() == nil {
		t.Error("no handles")
	}
	rocksync.Check(db.Close())
}

func TestAFeedTellsWhatPeersChange(t *testing.T) {
	directory := t.TempDir()
	a, b := open(t, filepath.Join(directory, "a")), open(t, filepath.Join(directory, "b"))
	_, err := b.Subscribe(1)
	fails(t, err, "at least 4 KiB")
	feed, small := rocksync.Must(b.Subscribe(1<<20)), rocksync.Must(b.Subscribe(4096))
	changes, missed, err := feed.Next(0)
	if len(changes) != 0 || missed != 0 || err != nil {
		t.Fatal(changes, missed, err)
	}
	_, _, err = feed.Next(-time.Second)
	fails(t, err, "duration of -1s")
	rocksync.Check(a.Put([]byte("key"), []byte("value")), a.Delete([]byte("gone")), b.Put([]byte("mine"), []byte("not told")))
	trial := filepath.Join(directory, "trial")
	ofA := rocksync.Must(a.Replicate(rocksync.Replication{Certificates: trial, Listen: "127.0.0.1:0", OnDemand: true}))
	ofB := rocksync.Must(b.Replicate(rocksync.Replication{Certificates: trial, OnDemand: true}))
	rocksync.Check(ofB.Sync(ofA.ListenAddress()))
	changes, missed, err = feed.Next(time.Minute)
	if len(changes) != 2 || missed != 0 || err != nil {
		t.Fatal(changes, missed, err)
	}
	for _, change := range changes {
		gone := string(change.Key) == "gone"
		if !gone && string(change.Key) != "key" || change.Deleted != gone || change.Family != "default" || change.Replaces ||
			change.ReplicaID != a.ReplicaID() || change.TimeMs == 0 || change.SourceID != a.ReplicaID() ||
			change.ReplacedReplicaID != 0 || change.ReplacedTimeMs != 0 || change.ReplacedDeleted {
			t.Errorf("%+v", change)
		}
	}
	for i := 0; i < 1000; i++ {
		rocksync.Check(a.Put([]byte(fmt.Sprintf("%04d", i)), nil))
	}
	rocksync.Check(ofB.Sync(ofA.ListenAddress()))
	told, left := 0, uint64(0)
	for told+int(left) < 1002 {
		changes, missed, err := small.Next(time.Minute)
		rocksync.Check(err)
		told, left = told+len(changes), left+missed
	}
	if left == 0 || told+int(left) != 1002 {
		t.Error(told, left)
	}
	ofB.Close()
	ofA.Close()
	// What came before the database was closed is told after it.
	waited := make(chan error)
	go func() {
		changes, missed, err := feed.Next(time.Minute)
		if len(changes) != 1000 || missed != 0 || err != nil {
			t.Error(len(changes), missed, err)
		}
		_, _, err = feed.Next(1000 * time.Hour)
		waited <- err
	}()
	rocksync.Check(b.Close(), a.Close())
	fails(t, <-waited, "aborted")
	feed.Close()
	feed.Close()
	small.Close()
	// Calls that wait end as it is closed, and those that queue behind one.
	c := open(t, filepath.Join(directory, "c"))
	queue := rocksync.Must(c.Subscribe(4096))
	ended := make(chan error)
	for i := 0; i < 3; i++ {
		go func() {
			_, _, err := queue.Next(1000 * time.Hour)
			ended <- err
		}()
	}
	// Behind these others wait no longer than they want to.
	for i := 0; i < 100; i++ {
		for _, timeout := range []time.Duration{0, time.Millisecond} {
			changes, missed, err = queue.Next(timeout)
			if len(changes) != 0 || missed != 0 || err != nil {
				t.Fatal(changes, missed, err)
			}
		}
	}
	queue.Close()
	for i := 0; i < 3; i++ {
		fails(t, <-ended, "change feed is closed")
	}
	rocksync.Check(c.Close())
	_, _, err = feed.Next(0)
	fails(t, err, "change feed is closed")
	_, err = b.Subscribe(4096)
	fails(t, err, "database is closed")
	var none rocksync.ChangeFeed
	_, _, err = none.Next(0)
	fails(t, err, "never was begun")
}

func TestDifferencesAndWrongOrder(t *testing.T) {
	directory := t.TempDir()
	a, b := open(t, filepath.Join(directory, "a")), open(t, filepath.Join(directory, "b"))
	trial := filepath.Join(directory, "trial")
	rocksync.Check(a.Put([]byte("of a"), nil))
	ofA := rocksync.Must(a.Replicate(rocksync.Replication{Certificates: trial, Listen: "127.0.0.1:0", OnDemand: true}))
	ofB := rocksync.Must(b.Replicate(rocksync.Replication{Certificates: trial, OnDemand: true, Zone: "east"}))
	found := rocksync.Must(ofB.Verify(ofA.ListenAddress(), 10, 0))
	if found.Equal || len(found.Differences) != 1 || found.Differences[0].Kind != "missing_here" ||
		string(found.Differences[0].Key) != "of a" || found.Differences[0].Family != "default" {
		t.Errorf("%+v", found)
	}
	fails(t, b.Close(), "close them first")
	rocksync.Check(b.Put([]byte("still open"), nil))
	if !strings.Contains(ofB.StatsJSON(), "\"pairs_applied\":0,") {
		t.Error(ofB.StatsJSON())
	}
	rocksync.Check(ofB.SetPeers(ofA.ListenAddress()))
	fails(t, ofB.SetPeers(ofA.ListenAddress(), "nowhere"), "nowhere")
	if !strings.Contains(ofB.StatsJSON(), "\"configured\":true") {
		t.Fatal(ofB.StatsJSON())
	}
	rocksync.Check(ofB.SetPeers())
	rocksync.Check(ofB.Pause())
	fails(t, ofB.Sync(ofA.ListenAddress()), "paused")
	rocksync.Check(ofB.Resume(), ofB.Scrub())
	ofB.Close()
	ofB.Close()
	fails(t, ofB.Sync("127.0.0.1:1"), "replicator is closed")
	_, err := b.Replicate(rocksync.Replication{CA: "none", Certificate: "none", PrivateKey: "none"})
	fails(t, err, "none")
	ofA.Close()
	rocksync.Check(a.Close(), b.Close())
}

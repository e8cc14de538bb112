// What the Rust crate does beside the example: values, update, differences, and errors.
use rocksync::{Certificates, Database, Kind, Options, Replication};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

fn place(name: &str) -> PathBuf {
    std::env::current_dir().unwrap().join(name)
}

fn open(name: &str) -> Database {
    Database::open(place(name), &Options::new("test", [7; 32])).unwrap()
}

#[test]
fn values() {
    let db = open("values");
    db.put(b"\0k", b"v\0").unwrap();
    db.put("empty", "").unwrap();
    db.put("gone", "1").unwrap();
    db.delete("gone").unwrap();
    assert_eq!(db.get(b"\0k").unwrap().unwrap(), b"v\0");
    assert_eq!(db.get("empty").unwrap().unwrap(), b"");
    assert_eq!(db.get("gone").unwrap(), None);
    let locked = Database::open(place("values"), &Options::new("test", [7; 32])).err().unwrap();
    assert!(locked.to_string().contains("in this process already"), "{locked}");
    drop(db);
    let other = Database::open(place("values"), &Options::new("test", [8; 32])).err().unwrap();
    assert!(other.to_string().contains("secret"), "{other}");
    let zero = Database::open("a\0b", &Options::new("test", [7; 32])).err().unwrap();
    assert!(zero.to_string().contains("zero byte"), "{zero}");
}

#[test]
fn update() {
    let db = open("update");
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..100 {
                    db.update("n", |value| {
                        let n: u32 = value.map_or(0, |text| String::from_utf8(text).unwrap().parse().unwrap());
                        Some((n + 1).to_string().into_bytes())
                    })
                    .unwrap();
                }
            });
        }
    });
    assert_eq!(db.get("n").unwrap().unwrap(), b"400");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| db.update("n", |_| panic!("on purpose"))));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"on purpose"));
    assert_eq!(db.get("n").unwrap().unwrap(), b"400");
    db.update("n", |_| None).unwrap();
    assert_eq!(db.get("n").unwrap(), None);
}

#[test]
fn differences() {
    let (a, b) = (open("differences_a"), open("differences_b"));
    a.put("of a", "1").unwrap();
    let mut trial = Replication::new(Certificates::Trial(place("trial").to_string_lossy().into()));
    trial.interval = Duration::ZERO;
    let of_a = a.replicate(&trial.clone().listen("127.0.0.1:0")).unwrap();
    let of_b = b.replicate(&trial).unwrap();
    let found = of_b.verify(&of_a.listen_address(), 10, Duration::ZERO).unwrap();
    assert!(!found.equal);
    assert_eq!(found.differences, [(Kind::MissingHere, "default".to_string(), b"of a".to_vec())]);
    assert!(of_b.stats_json().contains("\"pairs_applied\":0,"));
    of_b.set_peers(&[&of_a.listen_address()]).unwrap();
    let nowhere = of_b.set_peers(&["nowhere"]).err().unwrap();
    assert!(nowhere.to_string().contains("nowhere"), "{nowhere}");
    assert!(of_b.stats_json().contains("\"configured\":true"));
    of_b.set_peers(&[]).unwrap();
    of_b.pause();
    let paused = of_b.sync(&of_a.listen_address()).err().unwrap();
    assert!(paused.to_string().contains("paused"), "{paused}");
    of_b.resume();
    of_b.scrub().unwrap();
    let wrong = of_b.sync("nowhere").err().unwrap();
    assert!(wrong.to_string().contains("Invalid argument"), "{wrong}");
    let none = || "none".to_string();
    let files = Certificates::Files { ca: none(), certificate: none(), private_key: none() };
    assert!(b.replicate(&Replication::new(files)).err().unwrap().to_string().contains("none"));
}

#[test]
fn a_feed_tells_what_peers_change() {
    let (a, b) = (open("feed_a"), open("feed_b"));
    let few = b.subscribe(1).err().unwrap();
    assert!(few.to_string().contains("at least 4 KiB"), "{few}");
    let (mut feed, mut small) = (b.subscribe(1 << 20).unwrap(), b.subscribe(4096).unwrap());
    assert_eq!(feed.next(Duration::ZERO).unwrap(), (vec![], 0));
    a.put("key", "value").unwrap();
    a.delete("gone").unwrap();
    b.put("mine", "not told").unwrap();
    let mut trial = Replication::new(Certificates::Trial(place("trial_feed").to_string_lossy().into()));
    trial.interval = Duration::ZERO;
    let of_a = a.replicate(&trial.clone().listen("127.0.0.1:0")).unwrap();
    let of_b = b.replicate(&trial).unwrap();
    of_b.sync(&of_a.listen_address()).unwrap();
    let (mut changes, missed) = feed.next(Duration::from_secs(60)).unwrap();
    changes.sort_by(|one, other| one.key.cmp(&other.key));
    let told: Vec<_> = changes.iter().map(|c| (c.family.as_str(), c.key.as_slice(), c.deleted, c.replaces)).collect();
    assert_eq!(told, [("default", &b"gone"[..], true, false), ("default", &b"key"[..], false, false)]);
    assert!(changes.iter().all(|c| c.replica_id == a.replica_id() && c.time_ms > 0) && missed == 0);
    assert!(changes.iter().all(|c| c.source_id == a.replica_id() && c.replaced_replica_id == 0 && !c.replaced_deleted));
    (0..1000).for_each(|i| a.put(format!("{i:04}"), "").unwrap());
    of_b.sync(&of_a.listen_address()).unwrap();
    let (mut told, mut missed) = (0, 0);
    while told + missed < 1002 {
        let (changes, more) = small.next(Duration::from_secs(60)).unwrap();
        (told, missed) = (told + changes.len() as u64, missed + more);
    }
    assert!(missed > 0 && told + missed == 1002);
    drop(of_b);
    // What came before the database was closed is told after it.
    let waiting = std::thread::spawn(move || {
        let (changes, missed) = feed.next(Duration::from_secs(60)).unwrap();
        (changes.len(), missed, feed.next(Duration::MAX).err().unwrap().to_string())
    });
    b.close().unwrap();
    let (told, missed, aborted) = waiting.join().unwrap();
    assert_eq!((told, missed), (1000, 0));
    assert!(aborted.contains("aborted"), "{aborted}");
}

#[test]
fn members() {
    let db = open("members");
    db.wait_for_index_build(Duration::from_secs(60)).unwrap();
    let lacking = db.set_members(1, &[]).err().unwrap();
    assert!(lacking.to_string().contains("lacks replica"), "{lacking}");
    db.set_members(1, &[db.replica_id()]).unwrap();
    db.collect_tombstones().unwrap();
    let again = db.set_members(1, &[db.replica_id()]).err().unwrap();
    assert!(again.to_string().contains("does not follow"), "{again}");
    assert!(!db.handle().is_null() && !db.rocksdb().is_null());
    db.close().unwrap();
}

#[test]
fn a_path_is_bytes() {
    let path = place("").join(OsStr::from_bytes(b"not \xff UTF-8"));
    Database::open(&path, &Options::new("test", [7; 32])).unwrap().close().unwrap();
    assert!(path.join("CURRENT").exists());
}

// It ends with the database all the same.
#[test]
fn a_forgotten_replicator() {
    let db = open("forgotten");
    let trial = Replication::new(Certificates::Trial(place("trial_forgotten").to_string_lossy().into()));
    let replicator = db.replicate(&trial.clone().listen("127.0.0.1:0")).unwrap();
    let address = replicator.listen_address();
    std::mem::forget(replicator);
    db.close().unwrap();
    assert!(std::net::TcpStream::connect(&address).is_err());
    open("forgotten").close().unwrap();
}

#[test]
fn bounds() {
    let (a, b, c) = (open("bounds_a"), open("bounds_b"), open("bounds_c"));
    let mut trial = Replication::new(Certificates::Trial(place("trial_bounds").to_string_lossy().into()));
    trial.interval = Duration::ZERO;
    let mut one = trial.clone().listen("127.0.0.1:0");
    one.max_accepted = 1;
    let of_a = a.replicate(&one).unwrap();
    let of_b = b.replicate(&trial.clone().listen("127.0.0.1:0")).unwrap();
    of_b.sync(&of_a.listen_address()).unwrap(); // which keeps its connection
    {
        let of_c = c.replicate(&trial).unwrap();
        let full = of_c.sync(&of_a.listen_address()).err().unwrap();
        assert!(full.to_string().contains("all 1 connections are taken; raise max_accepted"), "{full}");
    }
    drop(of_a);
    drop(of_b);
    trial.interval = Duration::from_secs(10);
    let of_a = a.replicate(&trial.clone().listen("127.0.0.1:0")).unwrap();
    let of_b = b.replicate(&trial.clone().listen("127.0.0.1:0")).unwrap();
    let not_met = |stats: String| stats.matches("\"last_proven_equal_ms\":0,").count();
    let mut few = trial.clone().peer(&of_a.listen_address()).peer(&of_b.listen_address());
    few.interval = Duration::from_millis(50);
    few.max_stream_peers = 1;
    {
        let of_c = c.replicate(&few).unwrap();
        // That of all streams, and that of a peer.
        while not_met(of_c.stats_json()) > 0 || !of_c.stats_json().contains("\"open\":1,") {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!of_c.stats_json().contains("\"open\":2,"), "{}", of_c.stats_json());
    }
    few.interval = Duration::from_secs(3600);
    few.max_peers_per_interval = 1;
    few.stream = false;
    few.peers.clear();
    let of_c = c.replicate(&few).unwrap();
    of_c.set_peers(&[&of_a.listen_address(), &of_b.listen_address()]).unwrap();
    while not_met(of_c.stats_json()) > 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
    // The turn of the third one comes within the hour.
    of_c.set_peers(&[&of_a.listen_address(), &of_b.listen_address(), "127.0.0.1:1"]).unwrap();
    (0..50).for_each(|_| of_c.sync(&of_a.listen_address()).unwrap());
    assert_eq!(of_c.stats_json().matches("\"sessions_failed\":0,").count(), 4, "{}", of_c.stats_json());
}

// Under a millisecond is no 0, which would be on demand.
#[test]
fn a_short_interval() {
    let db = open("interval");
    let mut often = Replication::new(Certificates::Trial(place("trial_interval").to_string_lossy().into())).peer("127.0.0.1:1");
    often.interval = Duration::from_micros(1);
    let replicator = db.replicate(&often).unwrap();
    for _ in 0..600 {
        if !replicator.stats_json().contains("\"sessions_failed\":0,") {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("nothing is dialed: {}", replicator.stats_json());
}

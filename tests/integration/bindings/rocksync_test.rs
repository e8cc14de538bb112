// What the Rust crate does beside the example: values, modify, differences, and errors.
use rocksync::{Certificates, Database, Kind, Options, Replication};
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
    assert!(locked.to_string().contains("lock"), "{locked}");
    drop(db);
    let other = Database::open(place("values"), &Options::new("test", [8; 32])).err().unwrap();
    assert!(other.to_string().contains("secret"), "{other}");
    let zero = Database::open("a\0b", &Options::new("test", [7; 32])).err().unwrap();
    assert!(zero.to_string().contains("zero byte"), "{zero}");
}

#[test]
fn modify() {
    let db = open("modify");
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..100 {
                    db.modify("n", |value| {
                        let n: u32 = value.map_or(0, |text| String::from_utf8(text).unwrap().parse().unwrap());
                        Some((n + 1).to_string().into_bytes())
                    })
                    .unwrap();
                }
            });
        }
    });
    assert_eq!(db.get("n").unwrap().unwrap(), b"400");
    db.modify("n", |_| None).unwrap();
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
    assert!(of_b.statistics_json().contains("\"pairs_applied\":0,"));
    let wrong = of_b.sync("nowhere").err().unwrap();
    assert!(wrong.to_string().contains("Invalid argument"), "{wrong}");
    let none = || "none".to_string();
    let files = Certificates::Files { ca: none(), certificate: none(), private_key: none() };
    assert!(b.replicate(&Replication::new(files)).err().unwrap().to_string().contains("none"));
}

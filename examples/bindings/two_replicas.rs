// Two replicas of a database, which are made equal.
use rocksync::{Certificates, Database, Options, Replication};

fn main() -> rocksync::Result<()> {
    let options = Options::new("orders", [42; 32]); // yours: random, and the same on all replicas
    let (a, b) = (Database::open("a", &options)?, Database::open("b", &options)?);
    a.put("from a", "1")?;
    b.put("from b", "2")?;
    let trial = Replication::new(Certificates::Trial("trial".into()));
    let of_a = a.replicate(&trial.clone().listen("127.0.0.1:0"))?;
    let of_b = b.replicate(&trial)?;
    of_b.sync(&of_a.listen_address())?;
    println!("equal: {}", of_b.verify(&of_a.listen_address(), 1, Default::default())?.equal);
    Ok(())
}

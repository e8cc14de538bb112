# A new database from what can be read of a replica that has lost its MANIFEST (RocksDB's list of files):
rocksync repair c repaired

# A new database from what can be read of a replica that has lost its list of files
rocksync repair c repaired

# Makes a plain database from a copy of the stopped replica in the directory c, which itself stays a replica:
cp -a c plain
rocksync detach plain

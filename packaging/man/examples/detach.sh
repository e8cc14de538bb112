# A plain database of the stopped replica in the directory c, which stays a replica:
cp -a c plain
rocksync detach plain

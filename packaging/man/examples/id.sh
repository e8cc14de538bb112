# The id that the replica in the directory b will have, for its certificate; nothing is there yet:
rocksync id --make b
# The id of a replica that is there and does not run:
rocksync id a

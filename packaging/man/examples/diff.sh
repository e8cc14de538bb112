# Do two directories, of replicas or of plain databases, hold the same pairs? The exit code is 0 if they do:
rocksync diff c plain

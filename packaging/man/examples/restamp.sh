# After the clock of the stopped replica in the directory c was ahead, and is right again:
rocksync restamp c --cluster orders --secret secret

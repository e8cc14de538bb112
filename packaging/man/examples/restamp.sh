# The clock of the stopped replica in the directory c was ahead, and is right again. Gives the pairs that it wrote meanwhile new versions:
rocksync restamp c --cluster orders --secret secret

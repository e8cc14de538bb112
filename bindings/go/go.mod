module rocksync

go 1.19

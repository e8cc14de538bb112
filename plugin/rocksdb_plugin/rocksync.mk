# For RocksDB's own build, make and CMake, which both read this file. Link this
# folder into RocksDB's tree:
#   ln -s /path/to/rocksync/plugin/rocksdb_plugin rocksdb/plugin/rocksync
#   ROCKSDB_PLUGINS=rocksync make ...   or   cmake -DROCKSDB_PLUGINS=rocksync ...
# Nothing else is needed: xxHash is RocksDB's own copy.
rocksync_SOURCES = rocksync_filter.cc rocksync_filter_portable.cc rocksync_filter_avx2.cc rocksync_filter_avx512.cc
rocksync_FUNC = rocksync_register_filter_policy
rocksync_LIBS = 
rocksync_CXXFLAGS = -idirafter $(realpath plugin/rocksync)/../.. -idirafter $(realpath plugin/rocksync)/../../include

// The avx2 kernel, as a source of RocksDB's own build.

#include "plugin/filter_kernel_avx2.cc"

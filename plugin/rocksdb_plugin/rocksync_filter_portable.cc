// The portable kernel, as a source of RocksDB's own build.

#include "plugin/filter_kernel_portable.cc"

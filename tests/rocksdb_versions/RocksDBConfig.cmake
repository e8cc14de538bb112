# Stands for the package of a RocksDB of which only the headers are there, in
# ROCKSYNC_HEADERS: everything compiles, and what is linked does not run.
if(NOT EXISTS "${ROCKSYNC_HEADERS}/rocksdb/version.h")
  message(FATAL_ERROR "ROCKSYNC_HEADERS names no folder with rocksdb/version.h: "
                      "'${ROCKSYNC_HEADERS}'")
endif()
add_library(RocksDB::rocksdb INTERFACE IMPORTED)
set_target_properties(RocksDB::rocksdb PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${ROCKSYNC_HEADERS}"
  INTERFACE_LINK_OPTIONS "-Wl,--unresolved-symbols=ignore-all")

// std::string as instrumented code, linked into every program of a TSan build.
// RocksDB then calls this one instead of libstdc++'s, and a report about what
// RocksDB does with a string names RocksDB, since TSan's stacks hold callers of
// instrumented functions only. Without it the report ends in libstdc++ (memset
// below std::string::resize, say), and no suppression could tell RocksDB's
// strings from ours.

#include <string>

template class std::basic_string<char>;

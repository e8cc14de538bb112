// Opens a replica again after a kill, by the library, and compares what it says
// of itself with a scan.

#ifndef ROCKSYNC_TESTS_CRASH_REOPENING_H_
#define ROCKSYNC_TESTS_CRASH_REOPENING_H_

#include <string>
#include <vector>

#include "tests/crash/index_scan.h"

namespace rocksync::crash {

// Opens, waits for an adoption to end, compares the digests that sessions would
// start from with a scan, closes cleanly and scans again. `*scan` is the scan
// afterwards. `as_copy`: the directory is a copy, which must be refused first.
std::vector<std::string> CheckByOpening(const std::string& directory,
                                        bool as_copy, Scan* scan);

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_REOPENING_H_

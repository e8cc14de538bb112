// A marker that lists marks, for tests of what is made of it.

#ifndef ROCKSYNC_TESTS_UNIT_REPLICATION_STORE_LISTING_MARKER_H_
#define ROCKSYNC_TESTS_UNIT_REPLICATION_STORE_LISTING_MARKER_H_

#include <string>
#include <utility>
#include <vector>

#include "replication/store/format/marker.h"

namespace rocksync {

inline const std::string kOld(16, 'o');
inline const std::string kNew(16, 'n');

inline Marker Listing(std::vector<std::string> marks) {
  Marker marker;
  marker.directory = "/d";
  marker.wal_dir = "/w";
  marker.marks = std::move(marks);
  return marker;
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_UNIT_REPLICATION_STORE_LISTING_MARKER_H_

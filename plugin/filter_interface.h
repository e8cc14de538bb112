// RocksDB's internal filter interface; only this file knows it. Public headers
// only forward-declare FilterBitsBuilder and FilterBitsReader, but a policy has
// to return them, so they are declared here with their virtual functions in the
// order RocksDB calls them. Two functions were inserted over time; nothing else
// has changed from 7.0.3 to 11.9. A release outside that range has to be looked
// at before the range is widened.

#ifndef ROCKSYNC_PLUGIN_FILTER_INTERFACE_H_
#define ROCKSYNC_PLUGIN_FILTER_INTERFACE_H_

#include <cstddef>
#include <memory>

#include "rocksdb/filter_policy.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"
#include "rocksdb/version.h"

#define ROCKSYNC_ROCKSDB_VERSION(major, minor, patch) \
  ((major)*1000000 + (minor)*1000 + (patch))
#define ROCKSYNC_ROCKSDB_VERSION_HERE \
  ROCKSYNC_ROCKSDB_VERSION(ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH)

#if ROCKSYNC_ROCKSDB_VERSION_HERE < ROCKSYNC_ROCKSDB_VERSION(7, 0, 3)
#error "rocksync's filter policy needs RocksDB 7.0.3 or later"
#elif ROCKSYNC_ROCKSDB_VERSION_HERE >= ROCKSYNC_ROCKSDB_VERSION(11, 10, 0)
#error \
    "rocksync's filter policy knows RocksDB up to 11.9: \
compare FilterBitsBuilder in table/block_based/filter_policy_internal.h \
with plugin/filter_interface.h before raising this limit"
#endif

#define ROCKSYNC_FILTER_HAS_ADD_KEY_AND_ALT \
  (ROCKSYNC_ROCKSDB_VERSION_HERE >= ROCKSYNC_ROCKSDB_VERSION(9, 6, 0))
#define ROCKSYNC_FILTER_HAS_CALCULATE_SPACE \
  (ROCKSYNC_ROCKSDB_VERSION_HERE >= ROCKSYNC_ROCKSDB_VERSION(10, 9, 0))

namespace ROCKSDB_NAMESPACE {

// Collects keys and makes filters of them:
//   ((AddKey | AddKeyAndAlt)* Finish MaybePostVerify?)*
// Used by one thread at a time, except that EstimateEntriesAdded may be called
// concurrently.
class FilterBitsBuilder {
 public:
  virtual ~FilterBitsBuilder() {}
  virtual void AddKey(const Slice& key) = 0;
#if ROCKSYNC_FILTER_HAS_ADD_KEY_AND_ALT
  // Adds a key and its prefix, recognising repetitions of either.
  virtual void AddKeyAndAlt(const Slice& key, const Slice& alt) = 0;
#endif
  // Returns the number of distinct entries added since the last Finish; 0 if
  // and only if nothing was added.
  virtual size_t EstimateEntriesAdded() = 0;
  // Returns the filter, which stays valid as long as *buf.
  virtual Slice Finish(std::unique_ptr<const char[]>* buf) = 0;
  // Returns the filter; *status tells if a check of the keys in memory failed.
  virtual Slice Finish(std::unique_ptr<const char[]>* buf, Status* status) = 0;
  // Checks that the filter just made contains every key it was made of.
  virtual Status MaybePostVerify(const Slice& filter) = 0;
  // Returns how many keys a filter of so many bytes is good for.
  virtual size_t ApproximateNumEntries(size_t bytes) = 0;
#if ROCKSYNC_FILTER_HAS_CALCULATE_SPACE
  // Returns the size in bytes of a filter for so many keys.
  virtual size_t CalculateSpace(size_t entries) = 0;
  // Returns the false positive rate of a filter of `bytes` with `entries` keys.
  virtual double EstimatedFpRate(size_t entries, size_t bytes) = 0;
#endif
};

// Answers for one filter. Safe to use from any number of threads.
class FilterBitsReader {
 public:
  virtual ~FilterBitsReader() {}
  // Returns false only if the key was not added.
  virtual bool MayMatch(const Slice& key) = 0;
  virtual void MayMatch(int count, Slice** keys, bool* may_match) = 0;
};

}  // namespace ROCKSDB_NAMESPACE

namespace rocksync {

// Returns which of the layouts above a RocksDB version uses: 0, 1 or 2.
constexpr int FilterInterfaceLayout(int major, int minor) {
  const int version = ROCKSYNC_ROCKSDB_VERSION(major, minor, 0);
  return (version >= ROCKSYNC_ROCKSDB_VERSION(9, 6, 0) ? 1 : 0) +
         (version >= ROCKSYNC_ROCKSDB_VERSION(10, 9, 0) ? 1 : 0);
}

// Returns whether the RocksDB library in this process uses the layout compiled
// in here. A shared library of another minor version under the same name might
// not; then no builder may be handed to it. Determined once and remembered.
bool FilterInterfaceMatchesLibrary();

}  // namespace rocksync

#endif  // ROCKSYNC_PLUGIN_FILTER_INTERFACE_H_

// A merge operator that RocksDB cannot make by its name, as of an application.

#ifndef ROCKSYNC_TESTS_SUPPORT_APPEND_OPERATOR_H_
#define ROCKSYNC_TESTS_SUPPORT_APPEND_OPERATOR_H_

#include <string>
#include <utility>

#include "rocksdb/merge_operator.h"

namespace rocksync {

class AppendOperator final : public rocksdb::AssociativeMergeOperator {
 public:
  explicit AppendOperator(std::string name = "Append")
      : name_(std::move(name)) {}

  const char* Name() const override { return name_.c_str(); }
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice* existing,
             const rocksdb::Slice& value, std::string* merged,
             rocksdb::Logger*) const override {
    *merged = existing == nullptr ? "" : existing->ToString();
    merged->append(value.data(), value.size());
    return true;
  }

 private:
  const std::string name_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SUPPORT_APPEND_OPERATOR_H_

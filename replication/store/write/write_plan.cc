#include "replication/store/write/write_plan.h"

#include <string>
#include <string_view>

#include "replication/base/rocksdb_version.h"
#include "replication/store/write/refusals.h"

namespace rocksync {
namespace {

using rocksdb::Slice;
using rocksdb::Status;
using Kind = PlannedOperation::Kind;

class Planner final : public BatchHandler {
 public:
  Planner(const ReplicatedDBOptions& options, const FamilyTable& families,
          const ElementHasher& hasher, PlannedBatch* plan)
      : options_(options), families_(families), hasher_(hasher), plan_(plan) {}

  Status PutCF(uint32_t id, const Slice& key, const Slice& value) override {
    const Family* const family = families_.Find(id);
    if (family != nullptr) {
      const Status status =
          CheckSizes(options_, family->name, key, value.size());
      if (!status.ok()) return status;
    }
    return Add(Kind::kPut, id, key, value);
  }
  Status DeleteCF(uint32_t id, const Slice& key) override {
    return Add(Kind::kDelete, id, key, Slice());
  }
  Status SingleDeleteCF(uint32_t id, const Slice& key) override {
    if (families_.Find(id) != nullptr) plan_->verbatim = false;
    return Add(Kind::kDelete, id, key, Slice());
  }
  Status MergeCF(uint32_t id, const Slice& key, const Slice& value) override {
    const Family* family = families_.Find(id);
    if (family != nullptr) {
      plan_->verbatim = false;
      if (family->merge_operator == nullptr) {
        return Status::NotSupported(
            "rocksync: Merge needs a merge operator and the family's name in "
            "ReplicatedDBOptions::merge_families",
            family->name);
      }
    } else if (const Family* const other = families_.FindOther(id);
               other != nullptr && other->merge_operator == nullptr) {
      // RocksDB would find out in the memtable, and then take no more writes.
      return Status::NotSupported(
          "rocksync: Merge into a column family without a merge operator",
          other->name);
    }
    return Add(Kind::kMerge, id, key, value);
  }
  Status DeleteRangeCF(uint32_t id, const Slice& begin,
                       const Slice& end) override {
    if (families_.Find(id) != nullptr) {
      plan_->verbatim = false;
      plan_->has_range = true;
      plan_->stripes.AddAll();
    }
    return Add(Kind::kDeleteRange, id, begin, end);
  }
  Status OtherPutCF(uint32_t id, const char* call) override {
    if (families_.Find(id) == nullptr) return Elsewhere(id);
    return Status::NotSupported("rocksync: " + std::string(call) +
                                " in a replicated family; use Put");
  }
  void LogData(const Slice&) override {}
  Status MarkNoop(bool) override { return Status::OK(); }
  void TwoPhaseMark(TwoPhase, const Slice&) override { has_marks_ = true; }

  // Reports what cannot be reported while the batch is read.
  Status Judge() const {
    if (!has_marks_) return Status::OK();
    return Status::NotSupported(
        "rocksync: a batch of a two-phase commit (of a TransactionDB)",
        "write the operations as a batch of their own");
  }

 private:
  // Handles an operation on a family that is not replicated.
  Status Elsewhere(uint32_t id) {
    if (families_.FindOther(id) == nullptr) plan_->has_unknown = true;
    return Status::OK();
  }
  Status Add(Kind kind, uint32_t id, const Slice& key, const Slice& value) {
    const Family* family = families_.Find(id);
    if (family == nullptr) return Elsewhere(id);
    PlannedOperation operation{kind, id, key, value, 0};
    if (kind != Kind::kDeleteRange) {
      operation.position = hasher_.Position(family->name, key.ToStringView());
      plan_->stripes.Add(StripeOf(operation.position));
    }
    plan_->operations.push_back(operation);
    return Status::OK();
  }

  const ReplicatedDBOptions& options_;
  const FamilyTable& families_;
  const ElementHasher& hasher_;
  PlannedBatch* const plan_;
  bool has_marks_ = false;
};

}  // namespace

Status PlanBatch(const ReplicatedDBOptions& options,
                 const rocksdb::WriteBatch& batch, const FamilyTable& families,
                 const ElementHasher& hasher, PlannedBatch* plan) {
  Planner planner(options, families, hasher, plan);
  const Status read = batch.Iterate(&planner);
  return read.ok() ? planner.Judge() : read;
}

}  // namespace rocksync

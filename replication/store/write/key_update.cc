#include "replication/store/write/key_update.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "replication/base/forked.h"
#include "replication/store/index/plain_value.h"
#include "replication/store/write/callback_scope.h"
#include "replication/store/write/refusals.h"
#include "replication/store/write/write_stall.h"
#include "replication/text/escape_text.h"

namespace rocksync {

using rocksdb::Status;
using rocksdb::WriteOptions;

Status KeyUpdate::Run(const WriteOptions& options,
                      const std::vector<UpdatedKey>& keys,
                      const UpdateFunction& change) {
  Status status = indexed_->CheckOpen();
  if (status.ok()) status = CheckNotInCallback(indexed_);
  if (status.ok()) status = CheckWriteOptions(options);
  StripeSet stripes;
  if (status.ok()) status = CheckKeys(keys, &stripes);
  if (!status.ok()) return status;
  const PatientGuard guard(indexed_->locks(), stripes,
                           NoSlowdownDeadline(indexed_->db(), options));
  if (!guard.held()) return NoSlowdownError();
  std::vector<std::optional<std::string>> before;
  status = ReadBefore(keys, &before);
  if (!status.ok()) return status;
  std::vector<std::optional<std::string>> after = before;
  {
    const CallbackScope scope(indexed_, Callback::kUpdate);
    status = change(&after);
  }
  // The function may have called fork, and this may be the child.
  if (status.ok()) status = CheckMayWriteHere();
  if (!status.ok()) return status;
  if (after.size() != keys.size()) {
    return Status::InvalidArgument(
        "rocksync: the function that Update calls altered how many values "
        "there are",
        "keep the vector's size; an element without a value deletes its key");
  }
  return WriteChanged(options, keys, before, after);
}

Status KeyUpdate::CheckKeys(const std::vector<UpdatedKey>& keys,
                            StripeSet* stripes) const {
  std::set<std::pair<uint32_t, std::string>> distinct;
  const FamiliesInUse now = indexed_->families();
  for (const UpdatedKey& updated : keys) {
    const Family* const family = families_->Find(*now, updated.family);
    if (family == nullptr) {
      const Status known = families_->CheckKnown(updated.family);
      return !known.ok() ? known
                         : Status::NotSupported(
                               "rocksync: Update on the column family " +
                                   EscapeText(updated.family->GetName()) +
                                   ", which is not replicated",
                               "nothing locks its keys; use a mutex");
    }
    // Checked before the key is copied, however large it claims to be.
    const Status fits =
        CheckSizes(indexed_->options(), family->name, updated.key, 0);
    if (!fits.ok()) return fits;
    if (!distinct.insert({family->id, updated.key.ToString()}).second) {
      return Status::InvalidArgument(
          "rocksync: Update names a key twice",
          family->name + " 0x" + updated.key.ToString(true));
    }
    stripes->Add(StripeOf(
        indexed_->hasher().Position(family->name, updated.key.ToStringView())));
  }
  return Status::OK();
}

Status KeyUpdate::ReadBefore(
    const std::vector<UpdatedKey>& keys,
    std::vector<std::optional<std::string>>* before) const {
  before->resize(keys.size());
  const FamiliesInUse now = indexed_->families();
  for (size_t i = 0; i < keys.size(); ++i) {
    const Family* const family = families_->Find(*now, keys[i].family);
    if (family == nullptr) return FamilyIsGone();
    std::string value;
    const Status status = GetPlain(indexed_->db(), rocksdb::ReadOptions(),
                                   *family, keys[i].key.ToStringView(), &value);
    if (status.ok()) (*before)[i] = std::move(value);
    if (!status.ok() && !status.IsNotFound()) return status;
  }
  return Status::OK();
}

Status KeyUpdate::WriteChanged(
    const WriteOptions& options, const std::vector<UpdatedKey>& keys,
    const std::vector<std::optional<std::string>>& before,
    const std::vector<std::optional<std::string>>& after) {
  rocksdb::WriteBatch batch;
  Status status;
  for (size_t i = 0; i < keys.size() && status.ok(); ++i) {
    if (after[i] == before[i]) continue;
    status = after[i].has_value()
                 ? batch.Put(keys[i].family, keys[i].key, *after[i])
                 : batch.Delete(keys[i].family, keys[i].key);
  }
  if (!status.ok() || batch.Count() == 0) return status;
  return writer_->WriteLocked(options, batch);
}

}  // namespace rocksync

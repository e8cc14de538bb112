// Explains errors of an application's data that does not read: what is damage,
// and which keys are meant.

#ifndef ROCKSYNC_REPLICATION_STORE_UPKEEP_UNREADABLE_H_
#define ROCKSYNC_REPLICATION_STORE_UPKEEP_UNREADABLE_H_

#include <string>
#include <string_view>

#include "replication/store/index/family_table.h"
#include "rocksdb/status.h"

namespace rocksync {

// Returns whether an error is damage: corruption, or a blob file that is not
// there.
bool IsDamage(const rocksdb::Status& status);

// Returns `error`, if it is of reading, with the key whose value does not read
// and the remedy.
rocksdb::Status ValueError(const rocksdb::Status& error, const Family& family,
                           std::string_view key);

// Returns the same for the keys behind `from`; null: from the beginning on.
rocksdb::Status KeysError(const rocksdb::Status& error, const Family& family,
                          const std::string* from);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_UPKEEP_UNREADABLE_H_

#include "bindings/c/view.h"

#include <string>
#include <utility>
#include <vector>

#include "rocksdb/utilities/stackable_db.h"

namespace rocksync {
namespace {

using rocksdb::Status;

Status CreateElsewhere() {
  return Status::NotSupported(
      "rocksync: rocksdb_create_column_family does not fit a replicated "
      "database",
      "call rocksync_create_column_family");
}

class View : public rocksdb::StackableDB {
 public:
  explicit View(std::shared_ptr<OpenDatabase> open)
      : StackableDB(std::shared_ptr<rocksdb::DB>(open, open->db.get())),
        open_(std::move(open)) {
    ++open_->rocksdbs;
  }
  ~View() override { --open_->rocksdbs; }

  Status Close() override {
    return Status::NotSupported("rocksync: this is one way to the database",
                                "call rocksync_close");
  }
  Status CreateColumnFamily(const rocksdb::ColumnFamilyOptions&,
                            const std::string&,
                            rocksdb::ColumnFamilyHandle** handle) override {
    *handle = nullptr;
    return CreateElsewhere();
  }
  Status CreateColumnFamilies(
      const rocksdb::ColumnFamilyOptions&, const std::vector<std::string>&,
      std::vector<rocksdb::ColumnFamilyHandle*>*) override {
    return CreateElsewhere();
  }
  Status CreateColumnFamilies(
      const std::vector<rocksdb::ColumnFamilyDescriptor>&,
      std::vector<rocksdb::ColumnFamilyHandle*>*) override {
    return CreateElsewhere();
  }

  // StackableDB does not pass these on.
  Status Resume() override { return db_->Resume(); }
  void GetAllColumnFamilyMetaData(
      std::vector<rocksdb::ColumnFamilyMetaData>* metadata) override {
    db_->GetAllColumnFamilyMetaData(metadata);
  }
  Status GetStatsHistory(
      uint64_t start_time, uint64_t end_time,
      std::unique_ptr<rocksdb::StatsHistoryIterator>* iterator) override {
    return db_->GetStatsHistory(start_time, end_time, iterator);
  }

 private:
  const std::shared_ptr<OpenDatabase> open_;
};

}  // namespace

rocksdb::DB* NewView(std::shared_ptr<OpenDatabase> open) {
  return new View(std::move(open));
}

}  // namespace rocksync

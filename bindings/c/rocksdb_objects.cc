#include "bindings/c/rocksdb_objects.h"

#include <array>
#include <new>
#include <string>

#include "rocksdb/utilities/optimistic_transaction_db.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;

// Carries one thing from or to RocksDB's C functions. Has no database below it,
// so nothing but what is overridden may be called.
class Courier : public rocksdb::OptimisticTransactionDB {
 public:
  Courier() : OptimisticTransactionDB(nullptr) {}

  rocksdb::DB* GetBaseDB() override { return base; }
  Status CreateColumnFamily(const rocksdb::ColumnFamilyOptions& options,
                            const std::string& name,
                            ColumnFamilyHandle** created) override {
    num_levels = options.num_levels;
    *created = handle;
    return Status::OK();
  }
  Status DropColumnFamily(ColumnFamilyHandle* dropped) override {
    handle = dropped;
    return Status::OK();
  }
  Status Write(const rocksdb::WriteOptions& options,
               rocksdb::WriteBatch* batch) override {
    write_options = options;
    return Status::OK();
  }
  rocksdb::Transaction* BeginTransaction(
      const rocksdb::WriteOptions&,
      const rocksdb::OptimisticTransactionOptions&,
      rocksdb::Transaction*) override {
    return nullptr;
  }

  rocksdb::DB* base = nullptr;           // what is given out as the database
  ColumnFamilyHandle* handle = nullptr;  // what is given out, or came by
  int num_levels = 0;                    // of options that came by
  rocksdb::WriteOptions write_options;
};

// RocksDB's C object of a transaction database is a pointer to it. We make that
// one ourselves, as only opening a database would give us one. A pointer in
// every place: wherever RocksDB looks for it, it is there.
rocksdb_t* MakeRocksDB(Courier* courier, rocksdb::DB* db) {
  std::array<rocksdb::OptimisticTransactionDB*, 8> object;
  object.fill(courier);
  courier->base = db;
  return rocksdb_optimistictransactiondb_get_base_db(
      reinterpret_cast<rocksdb_optimistictransactiondb_t*>(object.data()));
}

// Deletes the C object alone, and not the database.
void FreeRocksDB(rocksdb_t* object) {
  rocksdb_optimistictransactiondb_close_base_db(object);
}

// A courier that is a rocksdb_t.
class CourierDB {
 public:
  CourierDB() : object_(MakeRocksDB(&courier_, &courier_)) {}
  ~CourierDB() {
    if (object_ != nullptr) FreeRocksDB(object_);
  }
  CourierDB(const CourierDB&) = delete;
  CourierDB& operator=(const CourierDB&) = delete;

  Courier* operator->() { return &courier_; }
  rocksdb_t* get() const { return object_; }

 private:
  Courier courier_;
  rocksdb_t* const object_;
};

// Default options as RocksDB has them, for calls that want some.
class AnyOptions {
 public:
  ~AnyOptions() { rocksdb_options_destroy(object_); }
  rocksdb_options_t* get() const { return object_; }

 private:
  rocksdb_options_t* const object_ = rocksdb_options_create();
};

Status Unknown(const char* what) {
  return Status::NotSupported(
      std::string("rocksync: RocksDB's C interface keeps ") + what +
          " in a way that this library does not know",
      "use a RocksDB that rocksync was tested with");
}

Status TryObjects() {
  CourierDB courier;
  if (courier.get() == nullptr) return Unknown("a database");

  // Options, at both ends: what was set by C functions has to be there.
  AnyOptions options;
  rocksdb_options_set_create_if_missing(options.get(), 1);
  rocksdb_options_set_wal_dir(options.get(), "a directory for the log");
  rocksdb_options_set_write_buffer_size(options.get(), 123'456'789);
  rocksdb_options_set_num_levels(options.get(), 5);
  rocksdb_options_set_blob_file_size(options.get(), 987'654'321);
  const rocksdb::Options& seen = Unwrap(options.get());
  if (!seen.create_if_missing || seen.write_buffer_size != 123'456'789 ||
      seen.num_levels != 5 || seen.blob_file_size != 987'654'321 ||
      seen.wal_dir != "a directory for the log") {
    return Unknown("options");
  }

  // A handle that comes back is the one that went out; any address will do.
  static char place;
  auto* const handle = reinterpret_cast<ColumnFamilyHandle*>(&place);
  courier->handle = handle;
  char* error = nullptr;
  rocksdb_column_family_handle_t* const object =
      rocksdb_create_column_family(courier.get(), options.get(), "", &error);
  if (courier->num_levels != 5) return Unknown("a database");
  courier->handle = nullptr;
  const bool same = Unwrap(object) == handle;
  FreeCObject(object);
  if (!same) return Unknown("a column family's handle");

  rocksdb_writeoptions_t* const write = rocksdb_writeoptions_create();
  rocksdb_writeoptions_set_sync(write, 1);
  rocksdb_writeoptions_disable_WAL(write, 1);
  const rocksdb::WriteOptions written = Unwrap(write);
  rocksdb_writeoptions_destroy(write);
  return written.sync && written.disableWAL ? Status::OK()
                                            : Unknown("options of a write");
}

}  // namespace

Status CheckRocksDBObjects() {
  static const Status result = TryObjects();
  return result;
}

rocksdb_t* NewCObject(rocksdb::DB* db) {
  Courier courier;
  return MakeRocksDB(&courier, db);
}

rocksdb_column_family_handle_t* NewCObject(ColumnFamilyHandle* handle) {
  CourierDB courier;
  AnyOptions options;
  courier->handle = handle;
  char* error = nullptr;
  return rocksdb_create_column_family(courier.get(), options.get(), "", &error);
}

void FreeCObject(rocksdb_column_family_handle_t* handle) {
  // RocksDB's own function would delete what it points to, too.
  ::operator delete(static_cast<void*>(handle));
}

ColumnFamilyHandle* Unwrap(rocksdb_column_family_handle_t* handle) {
  CourierDB courier;
  char* error = nullptr;
  rocksdb_drop_column_family(courier.get(), handle, &error);
  return courier->handle;
}

const rocksdb::Options& Unwrap(const rocksdb_options_t* options) {
  return *reinterpret_cast<const rocksdb::Options*>(options);
}

rocksdb::WriteOptions Unwrap(const rocksdb_writeoptions_t* options) {
  CourierDB courier;
  rocksdb_writebatch_t* const batch = rocksdb_writebatch_create();
  char* error = nullptr;
  rocksdb_write(courier.get(), options, batch, &error);
  rocksdb_writebatch_destroy(batch);
  return courier->write_options;
}

}  // namespace rocksync

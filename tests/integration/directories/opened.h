// Databases of the machine as RocksDB and the library open them, each with the
// families of the model: options, contents, and what is put into them.

#ifndef ROCKSYNC_TESTS_INTEGRATION_DIRECTORIES_OPENED_H_
#define ROCKSYNC_TESTS_INTEGRATION_DIRECTORIES_OPENED_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/options.h"

namespace rocksync::directories {

// Where a database keeps its files beside its own directory; empty: there.
struct Paths {
  std::string wal;
  std::string tables;                           // db_paths
  std::map<std::string, std::string> families;  // cf_paths, of all families
  // All that are not empty.
  std::vector<std::string> All() const;
  friend bool operator==(const Paths&, const Paths&) = default;
};

using Pairs = std::map<std::string, std::map<std::string, std::string>>;

rocksdb::DBOptions OptionsOf(const Paths& paths);
std::vector<rocksdb::ColumnFamilyDescriptor> FamiliesOf(const Paths& paths);

// An open database; closed as an application does it, unless that was done.
class Opened {
 public:
  Opened() = default;
  ~Opened() { Close().PermitUncheckedError(); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  rocksdb::Status Plain(const std::string& home, const Paths& paths);
  rocksdb::Status ReadOnly(const std::string& home, const Paths& paths);
  rocksdb::Status Replica(const std::string& home, const Paths& paths,
                          bool copy_as_new, bool short_archive);
  rocksdb::Status Close();

  rocksdb::DB* db() const { return db_.get(); }
  rocksdb::ColumnFamilyHandle* Handle(const std::string& family) const;
  rocksdb::Status CreateFamily(const std::string& name,
                               const std::string& path);
  rocksdb::Status Put(const std::string& family, const std::string& key,
                      const std::string& value);
  // Of the families of `paths`.
  rocksdb::Status Read(const Paths& paths, Pairs* pairs) const;

 private:
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
};

rocksdb::Status DetachPlain(const std::string& home, const Paths& paths);

// What distinguishes them, in a line; empty: nothing.
std::string Compare(const Pairs& expected, const Pairs& found);

}  // namespace rocksync::directories

#endif  // ROCKSYNC_TESTS_INTEGRATION_DIRECTORIES_OPENED_H_

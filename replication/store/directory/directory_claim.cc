#include "replication/store/directory/directory_claim.h"

#include <sys/stat.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "replication/base/directories.h"
#include "rocksdb/customizable.h"
#include "rocksdb/utilities/object_registry.h"

namespace rocksync {

using rocksdb::Env;
using rocksdb::Status;

namespace {

// Makes a claim visible to other copies of the library in this process. A
// program may link one and load librocksync.so, which hides its own variables;
// all share RocksDB's registry of objects.
class SharedClaim final : public rocksdb::Customizable {
 public:
  static const char* Type() { return "rocksync.DirectoryClaim"; }
  const char* Name() const override { return Type(); }
};

}  // namespace

struct DirectoryClaim::Claimed {
  Env* env;
  std::string path;  // absolute, without links as far as it is there
  // Device and inode; nullopt: no such directory, or not known to the system.
  std::optional<std::pair<dev_t, ino_t>> file;
  std::shared_ptr<rocksdb::Customizable> shared;

  // Returns false if another copy of the library has a claim.
  bool Share() {
    if (env != Env::Default()) return true;
    const std::string id =
        file.has_value()
            ? std::to_string(file->first) + ":" + std::to_string(file->second)
            : path;
    const auto claim = std::make_shared<SharedClaim>();
    if (!rocksdb::ObjectRegistry::Default()->SetManagedObject(id, claim).ok()) {
      return false;
    }
    shared = claim;  // this ends an earlier one
    return true;
  }
};

namespace {

std::string CanonicalPath(Env* env, const std::string& directory) {
  const std::string path = AbsolutePath(env, directory);
  return env == Env::Default() ? WithoutLinks(path) : path;
}

std::optional<std::pair<dev_t, ino_t>> FileOf(Env* env,
                                              const std::string& path) {
  struct stat found;
  if (env != Env::Default() || ::stat(path.c_str(), &found) != 0) {
    return std::nullopt;
  }
  return std::pair(found.st_dev, found.st_ino);
}

}  // namespace

class DirectoryClaim::Claims {
 public:
  // Never destroyed: a database may be closed while the process ends.
  static Claims* Get() {
    static Claims* const claims = new Claims();
    return claims;
  }

  // Returns false if there is a claim already.
  bool Add(Claimed* claimed) {
    const std::lock_guard lock(mutex_);
    const bool taken = std::any_of(
        all_.begin(), all_.end(),
        [&](const Claimed* other) { return IsSame(*claimed, *other); });
    if (taken || !claimed->Share()) return false;
    all_.push_back(claimed);
    return true;
  }
  void LookAgain(Claimed* claimed) {
    const std::lock_guard lock(mutex_);
    claimed->file = FileOf(claimed->env, claimed->path);
    claimed->Share();  // nobody else can have it: it has just been put there
  }
  void Remove(const Claimed* claimed) {
    const std::lock_guard lock(mutex_);
    all_.erase(std::find(all_.begin(), all_.end(), claimed));
  }

 private:
  static bool IsSame(const Claimed& left, const Claimed& right) {
    if (left.env != right.env) return false;
    if (left.file.has_value() && right.file.has_value()) {
      return left.file == right.file;
    }
    bool same = left.path == right.path;
    if (!same && left.env != Env::Default() &&
        !left.env->AreFilesSame(left.path, right.path, &same).ok()) {
      return false;
    }
    return same;
  }

  std::mutex mutex_;
  std::vector<const Claimed*> all_;
};

DirectoryClaim::DirectoryClaim(std::unique_ptr<Claimed> claimed)
    : claimed_(std::move(claimed)) {}

DirectoryClaim::~DirectoryClaim() { Claims::Get()->Remove(claimed_.get()); }

void DirectoryClaim::LookAgain() { Claims::Get()->LookAgain(claimed_.get()); }

Status DirectoryClaim::Take(Env* env, const std::string& directory,
                            std::unique_ptr<DirectoryClaim>* claim) {
  claim->reset();
  const std::string path = CanonicalPath(env, directory);
  auto claimed =
      std::make_unique<Claimed>(Claimed{env, path, FileOf(env, path), {}});
  if (!Claims::Get()->Add(claimed.get())) {
    return Status::IOError(
        "rocksync: " + directory +
            " is open in this process already, close it first",
        path == directory ? "" : path);
  }
  claim->reset(new DirectoryClaim(std::move(claimed)));
  return Status::OK();
}

}  // namespace rocksync

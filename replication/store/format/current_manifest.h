// Which MANIFEST a database uses, and which files.

#ifndef ROCKSYNC_REPLICATION_STORE_FORMAT_CURRENT_MANIFEST_H_
#define ROCKSYNC_REPLICATION_STORE_FORMAT_CURRENT_MANIFEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/env.h"

namespace rocksync {

// The content of CURRENT, "" if there is none in `name`, or it does not read.
// Every opening for writing starts a new MANIFEST, so it tells whether somebody
// opened the database since.
std::string CurrentManifest(rocksdb::Env* env, const std::string& name);
// The same. NotFound: there is no database; any other error says nothing.
rocksdb::Status CurrentManifest(rocksdb::Env* env, const std::string& name,
                                std::string* manifest);

// The name of that file: CURRENT ends with a line feed.
std::string ManifestFile(std::string manifest);

// The number of a MANIFEST that CurrentManifest named. Numbers of files that
// are made later are larger. 0: none.
uint64_t ManifestNumber(const std::string& manifest);

// The largest number of a MANIFEST that is there. Larger than that of the one
// in use: an opening was interrupted, or an older state was put over a newer.
uint64_t NewestManifest(rocksdb::Env* env, const std::string& name);

// What stands for the files of `families` with numbers up to `last_file`: which
// they are, of which family, and how long. `*largest` is the largest number.
uint64_t FilesOf(rocksdb::DB* db,
                 const std::vector<rocksdb::ColumnFamilyHandle*>& families,
                 uint64_t last_file, uint64_t* largest);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_CURRENT_MANIFEST_H_

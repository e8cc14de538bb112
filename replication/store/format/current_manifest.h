// Tells which MANIFEST a database uses, and which table files.

#ifndef ROCKSYNC_REPLICATION_STORE_FORMAT_CURRENT_MANIFEST_H_
#define ROCKSYNC_REPLICATION_STORE_FORMAT_CURRENT_MANIFEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/env.h"

namespace rocksync {

// Returns the content of CURRENT in `name`; "" if there is none, or it cannot
// be read. Every opening for writing starts a new MANIFEST, so the content
// tells whether the database was opened since.
std::string CurrentManifest(rocksdb::Env* env, const std::string& name);
// Reads the content of CURRENT. Returns NotFound if there is no database; any
// other error tells nothing.
rocksdb::Status CurrentManifest(rocksdb::Env* env, const std::string& name,
                                std::string* manifest);

// Returns the name of the MANIFEST, without the line feed that ends CURRENT.
std::string ManifestFile(std::string manifest);

// Returns the number of a MANIFEST that CurrentManifest named; 0: none. Files
// that are created later have larger numbers.
uint64_t ManifestNumber(const std::string& manifest);

// Returns the largest number of an existing MANIFEST. If it is larger than that
// of the one in use, an opening was interrupted, or an older state was put over
// a newer one.
uint64_t NewestManifest(rocksdb::Env* env, const std::string& name);

// Returns a hash of the table files of `families` with numbers up to
// `last_file`: their families, numbers and sizes. `*largest` is their largest
// number.
uint64_t FilesOf(rocksdb::DB* db,
                 const std::vector<rocksdb::ColumnFamilyHandle*>& families,
                 uint64_t last_file, uint64_t* largest);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_CURRENT_MANIFEST_H_

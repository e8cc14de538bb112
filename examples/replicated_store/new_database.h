// Whether a database may be made where there is none: with certificates that
// are not for trials its id has to be the one that the certificate names.

#ifndef EXAMPLES_REPLICATED_STORE_NEW_DATABASE_H_
#define EXAMPLES_REPLICATED_STORE_NEW_DATABASE_H_

#include <cstdint>
#include <string>

#include "rocksdb/status.h"

namespace rocksync {

// `*may_be_made`: `rocksync id --make` has left the id `named` in `directory`,
// which a new database there gets. Else it would get a random one, which no
// certificate names. NotFound: there is nothing, and none may be made. The disk
// may be mounted yet, so trying again may help. InvalidArgument: the id there
// is another one.
rocksdb::Status CheckNewDatabase(const std::string& directory,
                                 const std::string& certificate_file,
                                 uint64_t named, bool* may_be_made);

}  // namespace rocksync

#endif  // EXAMPLES_REPLICATED_STORE_NEW_DATABASE_H_

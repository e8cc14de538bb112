// The vectors as they stand in a document: fenced blocks of the kind `vectors`.
//
//   ```vectors
//   name = 01 02 "text" 03    # a remark
//   longer =
//     04 05                   # indented lines go on
//   ```
//
// A value is bytes in hexadecimal, in groups of any size, and texts in double
// quotes, which stand for their bytes. Remarks begin with '#' and end with the
// line.

#ifndef ROCKSYNC_TESTS_INTEGRATION_VECTORS_VECTOR_DOCUMENT_H_
#define ROCKSYNC_TESTS_INTEGRATION_VECTORS_VECTOR_DOCUMENT_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace rocksync {

struct Vector {
  std::string name;
  std::string bytes;
};
using Vectors = std::vector<Vector>;

// InvalidArgument names the line that is none, or a name that comes twice.
absl::StatusOr<Vectors> ReadVectors(std::string_view document);

// Fails for each of `computed` that docs/test_vectors.md does not hold, and for
// each vector that it holds beside them, of those whose name `is_mine` (the
// others are another test's). It prints the line that should stand there;
// ROCKSYNC_VECTORS=1 prints all.
void CompareWithDocument(const Vectors& computed,
                         const std::function<bool(std::string_view)>& is_mine);

// The line of a document.
std::string LineOf(const Vector& vector);

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_INTEGRATION_VECTORS_VECTOR_DOCUMENT_H_

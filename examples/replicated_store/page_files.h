// The files of the status page, compiled in from page/.

#ifndef EXAMPLES_REPLICATED_STORE_PAGE_FILES_H_
#define EXAMPLES_REPLICATED_STORE_PAGE_FILES_H_

#include <span>
#include <string_view>

namespace rocksync {

struct PageFile {
  std::string_view path;  // "/index.html"
  std::string_view text;
};

std::span<const PageFile> PageFiles();

}  // namespace rocksync

#endif  // EXAMPLES_REPLICATED_STORE_PAGE_FILES_H_

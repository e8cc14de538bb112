// The files of the status page, compiled in from page/.

#ifndef EXAMPLES_REPLICATED_STORE_PAGE_FILES_H_
#define EXAMPLES_REPLICATED_STORE_PAGE_FILES_H_

#include <string_view>

namespace rocksync {

extern const std::string_view kPageHtml;
extern const std::string_view kPageCss;
extern const std::string_view kPageJs;

}  // namespace rocksync

#endif  // EXAMPLES_REPLICATED_STORE_PAGE_FILES_H_

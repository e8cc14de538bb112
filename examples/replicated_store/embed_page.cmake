# Writes OUTPUT, a source with the files of the page in FOLDER.
# usage: cmake -DFOLDER=... -DOUTPUT=... -P embed_page.cmake
file(READ ${FOLDER}/index.html html)
file(READ ${FOLDER}/page.css css)
file(READ ${FOLDER}/page.js js)
file(WRITE ${OUTPUT} "// Made by embed_page.cmake.
#include \"examples/replicated_store/page_files.h\"

namespace rocksync {

const std::string_view kPageHtml = R\"rocksync(${html})rocksync\";
const std::string_view kPageCss = R\"rocksync(${css})rocksync\";
const std::string_view kPageJs = R\"rocksync(${js})rocksync\";

}  // namespace rocksync
")

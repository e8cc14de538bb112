# Writes OUTPUT, a source with FILES of the page in FOLDER.
# usage: cmake -DFOLDER=... -DFILES=... -DOUTPUT=... -P embed_page.cmake
set(files "")
foreach(file ${FILES})
  file(READ ${FOLDER}/${file} text)
  string(APPEND files "    {\"/${file}\", R\"rocksync(${text})rocksync\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made by embed_page.cmake.
#include \"examples/replicated_store/page_files.h\"

namespace rocksync {
namespace {

constexpr PageFile kFiles[] = {
${files}};

}  // namespace

std::span<const PageFile> PageFiles() { return kFiles; }

}  // namespace rocksync
")

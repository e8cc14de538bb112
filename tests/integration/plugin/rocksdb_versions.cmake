# cmake -DCXX=compiler -DROOT=sources -DOUT=folder -P rocksdb_versions.cmake
# Compiles the builder as for other RocksDB versions (their version.h, the
# installed version's other headers): accepted from 7.0.3 to 11.8, refused with
# a message outside, with and without RTTI.
function(expect version accepted)
  string(REPLACE "." ";" parts ${version})
  list(GET parts 0 major)
  list(GET parts 1 minor)
  list(GET parts 2 patch)
  file(WRITE ${OUT}/${version}/rocksdb/version.h
"#pragma once
#include <string>
#include \"rocksdb/rocksdb_namespace.h\"
#define ROCKSDB_MAJOR ${major}
#define ROCKSDB_MINOR ${minor}
#define ROCKSDB_PATCH ${patch}
namespace ROCKSDB_NAMESPACE {
std::string GetRocksVersionAsString(bool with_patch = true);
}
")
  foreach(rtti IN ITEMS -frtti -fno-rtti)
    execute_process(
      COMMAND ${CXX} -std=c++17 ${rtti} -Wall -Wextra -Werror -fsyntax-only
              -I${OUT}/${version} -I${ROOT} -I${ROOT}/include
              ${ROOT}/plugin/filter_builder.cc
      RESULT_VARIABLE result ERROR_VARIABLE errors)
    if(accepted AND NOT result EQUAL 0)
      message(FATAL_ERROR "${version} ${rtti} does not compile:\n${errors}")
    elseif(NOT accepted AND
           (result EQUAL 0 OR NOT errors MATCHES "rocksync's filter policy"))
      message(FATAL_ERROR "${version} is not refused with a message:\n${errors}")
    endif()
  endforeach()
endfunction()

expect(6.29.5 FALSE)
expect(7.0.2 FALSE)
expect(7.0.3 TRUE)
expect(9.5.2 TRUE)
expect(9.6.0 TRUE)
expect(10.8.3 TRUE)
expect(10.9.0 TRUE)
expect(11.8.1 TRUE)
expect(11.9.0 FALSE)
expect(12.0.0 FALSE)

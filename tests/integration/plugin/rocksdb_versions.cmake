# cmake -DCXX=compiler -DROOT=sources -DOUT=folder -P rocksdb_versions.cmake
# Compiles the policy, as RocksDB's own build would, for other RocksDB versions
# (their version.h and language, the installed version's other headers): accepted
# from 7.0.3 to 11.9, refused with a message outside, with and without RTTI.
function(expect version accepted standard)
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
      COMMAND ${CXX} -std=${standard} ${rtti} -fsyntax-only
              -W -Wextra -Wall -Wsign-compare -Wshadow -Wunused-parameter
              -Woverloaded-virtual -Wnon-virtual-dtor -Werror -Wfatal-errors
              -I${OUT}/${version} -idirafter ${ROOT} -idirafter ${ROOT}/include
              ${ROOT}/plugin/rocksdb_plugin/rocksync_filter.cc
      RESULT_VARIABLE result ERROR_VARIABLE errors)
    if(accepted AND NOT result EQUAL 0)
      message(FATAL_ERROR "${version} ${rtti} does not compile:\n${errors}")
    elseif(NOT accepted AND
           (result EQUAL 0 OR NOT errors MATCHES "rocksync's filter policy"))
      message(FATAL_ERROR "${version} is not refused with a message:\n${errors}")
    endif()
  endforeach()
endfunction()

expect(7.0.2 FALSE c++17)
expect(7.0.3 TRUE c++17)
expect(9.5.2 TRUE c++17)
expect(9.6.0 TRUE c++17)
expect(10.8.3 TRUE c++17)
expect(10.9.0 TRUE c++20)
expect(11.8.1 TRUE c++20)
expect(11.9.0 TRUE c++20)
expect(11.10.0 FALSE c++20)
expect(12.0.0 FALSE c++20)

# cmake -DCXX=compiler -DROOT=sources -DOUT=folder -P rocksdb_versions.cmake
# Compiles the policy, as RocksDB's own build would, for other RocksDB versions
# (their version.h and language, the installed version's other headers): accepted
# from 7.0.3 to 11.9, refused with a message outside. HOW is what the compiler does:
# `refused` and `accepted`, which the preprocessor decides, or `compiled`, by RocksDB's
# warnings, with RTTI and without: where the interface is another than before.
function(expect version how standard)
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
  set(ways -E)
  if(how STREQUAL compiled)
    set(ways "-fsyntax-only -frtti" "-fsyntax-only -fno-rtti")
  endif()
  foreach(way IN LISTS ways)
    separate_arguments(flags UNIX_COMMAND "${way}")
    execute_process(
      COMMAND ${CXX} -std=${standard} ${flags}
              -W -Wextra -Wall -Wsign-compare -Wshadow -Wunused-parameter
              -Woverloaded-virtual -Wnon-virtual-dtor -Werror -Wfatal-errors
              -I${OUT}/${version} -idirafter ${ROOT} -idirafter ${ROOT}/include
              ${ROOT}/plugin/rocksdb_plugin/rocksync_filter.cc
      RESULT_VARIABLE result ERROR_VARIABLE errors OUTPUT_QUIET)
    if(NOT how STREQUAL refused AND NOT result EQUAL 0)
      message(FATAL_ERROR "${version} ${way} does not compile:\n${errors}")
    elseif(how STREQUAL refused AND
           (result EQUAL 0 OR NOT errors MATCHES "rocksync's filter policy"))
      message(FATAL_ERROR "${version} is not refused with a message:\n${errors}")
    endif()
  endforeach()
endfunction()

expect(7.0.2 refused c++17)
expect(7.0.3 compiled c++17)
expect(9.5.2 accepted c++17)
expect(9.6.0 compiled c++17)
expect(10.8.3 accepted c++20)
expect(10.9.0 compiled c++20)
expect(11.8.1 accepted c++20)
expect(11.9.0 accepted c++20)
expect(11.10.0 refused c++20)
expect(12.0.0 refused c++20)

# What every target of ours has in common, set on targets and never globally.

# Of targets that know nothing of RocksDB; cmake/rocksdb_traits.cmake has the others'.
set(ROCKSYNC_ROCKSDB_STANDARD 17)

# rocksync_target_defaults(TARGET [KIND]): language level, warnings, sanitizers;
# and what targets of a KIND (`library`, `program` or `test`) have in common.
function(rocksync_target_defaults target)
  # Of those who use it, too: they include RocksDB's headers.
  target_compile_features(${target} PUBLIC cxx_std_${ROCKSYNC_ROCKSDB_STANDARD})
  set_target_properties(${target} PROPERTIES
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-unused-parameter
    $<$<BOOL:${ROCKSYNC_WERROR}>:-Werror>)
  if(ROCKSYNC_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${ROCKSYNC_SANITIZE} -fno-sanitize-recover=all
      -fno-sanitize=vptr  # a RocksDB without RTTI has nothing for it to look at
      -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${ROCKSYNC_SANITIZE})
  endif()
  if(ROCKSYNC_COVERAGE)
    # Atomic: our tests have threads, and so have our programs.
    target_compile_options(${target} PRIVATE --coverage -fprofile-update=atomic)
    target_link_options(${target} PUBLIC --coverage)
  endif()
  if(ARGC GREATER 1)
    set_target_properties(${target} PROPERTIES ROCKSYNC_KIND ${ARGV1})
    rocksync_optimize(${target} ${ARGV1})
    rocksync_precompile(${target} ${ARGV1})
  endif()
endfunction()

# rocksync_optimize(TARGET KIND): less than the build asks for, where it is in vain.
# GoogleTest's macros take long to optimize, as do options of programs, and what
# is tested is in libraries. With ROCKSYNC_PLAIN_PROGRAMS that holds for the
# programs, too. A `pure_` kind: see rocksync_pure.
function(rocksync_optimize target kind)
  if(kind STREQUAL test OR (ROCKSYNC_PLAIN_PROGRAMS AND kind STREQUAL program))
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O0>)
  elseif(kind MATCHES "^pure_")
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# rocksync_precompile(TARGET KIND): with ROCKSYNC_PRECOMPILE, headers of others
# that most sources include are parsed once for all targets of a KIND, as that is
# half of the compiler's work. None of ours is among them: each source still has
# to include what it uses of ours. That sources include these, too, is checked by
# tests/integration/headers/check_precompiled.sh. CLI11 is among them for Clang alone:
# GCC works ten seconds in each source that it is seen in.
set(ROCKSYNC_PRECOMPILED_library
  <algorithm> <array> <atomic> <chrono> <condition_variable> <cstddef> <cstdint>
  <cstring> <deque> <functional> <map> <memory> <mutex> <optional> <set> <span>
  <string> <string_view> <thread> <utility> <vector>
  <absl/status/status.h> <absl/status/statusor.h> <absl/strings/str_cat.h>
  <rocksdb/db.h>)
set(ROCKSYNC_PRECOMPILED_instrumented ${ROCKSYNC_PRECOMPILED_library})
set(ROCKSYNC_PRECOMPILED_program ${ROCKSYNC_PRECOMPILED_library}
  <filesystem> <random> <nlohmann/json.hpp>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  list(APPEND ROCKSYNC_PRECOMPILED_program <CLI/CLI.hpp>)
endif()
set(ROCKSYNC_PRECOMPILED_test ${ROCKSYNC_PRECOMPILED_library}
  <filesystem> <random> <gmock/gmock.h> <gtest/gtest.h>)
foreach(kind program test)
  set(ROCKSYNC_PRECOMPILED_pure_${kind} ${ROCKSYNC_PRECOMPILED_${kind}})
endforeach()
function(rocksync_precompile target kind)
  if(NOT ROCKSYNC_PRECOMPILE)
    return()
  endif()
  set(shared rocksync_precompiled_${kind})
  if(NOT TARGET ${shared})
    # A program's code is position-independent in another way than a library's.
    if(kind MATCHES "library|instrumented")
      add_library(${shared} OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
    else()
      add_executable(${shared} EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
    endif()
    target_precompile_headers(${shared} PRIVATE ${ROCKSYNC_PRECOMPILED_${kind}})
    target_link_libraries(${shared} PRIVATE ${ROCKSYNC_ROCKSDB} absl::status
                          $<$<STREQUAL:${kind},test>:GTest::gmock>
                          $<$<STREQUAL:${kind},pure_test>:GTest::gmock>)
    rocksync_target_defaults(${shared})
    rocksync_optimize(${shared} ${kind})
    if(kind STREQUAL instrumented)
      target_compile_options(${shared} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${shared})
endfunction()

# rocksync_compile_apart(SOURCE...): the sources of a program, and with
# CMAKE_UNITY_BUILD (CMakePresets.json) those of a library, are compiled together,
# which takes much less time; these have names or target options that others have,
# too.
macro(rocksync_compile_apart)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endmacro()

# To see whether it does. Tests' sources are compiled together all the same.
option(ROCKSYNC_EACH_ALONE "Compile each source of what is packaged alone" OFF)
mark_as_advanced(ROCKSYNC_EACH_ALONE)

# rocksync_compile_together(TARGET [BATCH n]): or all of them at once.
function(rocksync_compile_together target)
  cmake_parse_arguments(ARG "" "BATCH" "" ${ARGN})
  set(tests ${PROJECT_SOURCE_DIR}/tests)
  cmake_path(IS_PREFIX tests ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE is_test)
  set_property(GLOBAL APPEND PROPERTY ROCKSYNC_COMPILED_TOGETHER ${target})
  if(is_test OR NOT ROCKSYNC_EACH_ALONE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
  else()
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  endif()
  if(DEFINED ARG_BATCH)
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE ${ARG_BATCH})
  endif()
endfunction()

# rocksync_list_together(FILE): a line a target whose sources are compiled together:
# its name and theirs, for tests/integration/headers/check_together.sh.
function(rocksync_list_together file)
  set(lines "")
  get_property(targets GLOBAL PROPERTY ROCKSYNC_COMPILED_TOGETHER)
  foreach(target IN LISTS targets)
    get_target_property(folder ${target} SOURCE_DIR)
    get_target_property(sources ${target} SOURCES)
    string(APPEND lines ${target})
    foreach(source IN LISTS sources)
      if(source MATCHES "[.]cc$")
        cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} NORMALIZE)
        get_source_file_property(apart ${source} TARGET_DIRECTORY ${target}
                                 SKIP_UNITY_BUILD_INCLUSION)
        if(NOT apart)
          string(APPEND lines " ${source}")
        endif()
      endif()
    endforeach()
    string(APPEND lines "\n")
  endforeach()
  file(WRITE ${file} "${lines}")
endfunction()

# rocksync_pure(TARGET...): computes all the time, so where lines are counted, and
# in programs under sanitizers, it is optimized a little all the same, or its tests
# would take up to ten times as long: of an inline function of the standard library
# that both use, the linker takes the program's, for the libraries, too. The price: branches that the compiler merges
# are counted as one.
function(rocksync_pure)
  foreach(target ${ARGN})
    get_target_property(type ${target} TYPE)
    if(ROCKSYNC_COVERAGE)
      target_compile_options(${target} PRIVATE -O1)
    elseif(ROCKSYNC_PLAIN_PROGRAMS AND type STREQUAL EXECUTABLE)
      # What was precompiled for others is not optimized.
      get_target_property(kind ${target} ROCKSYNC_KIND)
      rocksync_optimize(${target} pure_${kind})
      rocksync_precompile(${target} pure_${kind})
    endif()
  endforeach()
endfunction()

# rocksync_library(NAME [LEAN] SOURCES ... LINKS ...): one module, a
# folder, as a static library. Its links to other modules are the arrows of the
# picture in docs/design.md (tests/integration/headers/check_modules.sh). Includes are written from the root of the sources
# ("sketch/element/digest.h"); public headers as "rocksync/options.h". A LEAN one needs
# few headers of others.
function(rocksync_library name)
  cmake_parse_arguments(ARG "LEAN" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(rocksync_${name} STATIC ${ARG_SOURCES})
  add_library(rocksync::${name} ALIAS rocksync_${name})
  target_include_directories(rocksync_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
           $<INSTALL_INTERFACE:include>
    PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(rocksync_${name}
    PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
  set_target_properties(rocksync_${name} PROPERTIES EXPORT_NAME ${name})
  if(CMAKE_UNITY_BUILD)
    rocksync_compile_together(rocksync_${name})
  endif()
  if(ARG_LEAN)
    rocksync_target_defaults(rocksync_${name})
  else()
    rocksync_target_defaults(rocksync_${name} library)
  endif()
  # What tests share is not installed.
  set(tests ${PROJECT_SOURCE_DIR}/tests)
  cmake_path(IS_PREFIX tests ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE is_test)
  if(NOT is_test)
    set_property(GLOBAL APPEND PROPERTY ROCKSYNC_LIBRARIES rocksync_${name})
    list(GET ARG_SOURCES 0 source)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    set(links ${ARG_LINKS} ${ARG_PRIVATE_LINKS})
    list(FILTER links INCLUDE REGEX "^rocksync::")
    list(JOIN links " " links)
    string(REPLACE "rocksync::" "" links "${links}")
    set_property(GLOBAL APPEND PROPERTY ROCKSYNC_MODULES "${name} ${folder} ${links}")
  endif()
endfunction()

if(ROCKSYNC_SANITIZE MATCHES "thread")
  add_library(rocksync_tsan_strings OBJECT cmake/sanitizers/tsan_strings.cc)
  rocksync_target_defaults(rocksync_tsan_strings)
endif()

# rocksync_replaces_new(TARGET): defines `operator new` for the programs that link
# it. Clang's TSan has a definition of its own, which is linked where the driver
# knows that it links C++.
function(rocksync_replaces_new target)
  if(ROCKSYNC_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_link_options(${target} PUBLIC --driver-mode=gcc)
    target_link_libraries(${target} PUBLIC stdc++ m)
  endif()
endfunction()

set(ROCKSYNC_PROGRAM_BATCH 8 CACHE STRING "Of a program, so many sources are compiled together; 0: all, which builds the whole sooner, and again later")
mark_as_advanced(ROCKSYNC_PROGRAM_BATCH)

# rocksync_program(NAME [KIND kind] SOURCES ... LINKS ...): a tool, example or
# benchmark, built into bin/ of the build directory. Its sources are compiled
# together, which takes the compiler half the time.
function(rocksync_program name)
  cmake_parse_arguments(ARG "" "KIND" "SOURCES;LINKS" ${ARGN})
  if(NOT ARG_KIND)
    set(ARG_KIND program)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  rocksync_compile_together(${name} BATCH ${ROCKSYNC_PROGRAM_BATCH})
  rocksync_target_defaults(${name} ${ARG_KIND})
  if(ROCKSYNC_SANITIZE MATCHES "thread")
    target_link_libraries(${name} PRIVATE rocksync_tsan_strings)
  endif()
endfunction()

# rocksync_program_parts(NAME): what a program and its tests share, a library that
# is compiled like a program, position-independent in a program's way.
function(rocksync_program_parts name)
  rocksync_target_defaults(${name} program)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  rocksync_compile_together(${name})
  target_compile_options(${name} PRIVATE -fPIE)
endfunction()

# rocksync_test(NAME [LONG] [SHARDS n] SOURCES ... LINKS ... [LABELS ...]
# [TIMEOUT s] [NOT_UNDER_TSAN suite...]): a GoogleTest program, one CTest entry per
# program, or n of them that share its tests and may run side by side. The environment
# of a directory's tests is its ROCKSYNC_TEST_ENVIRONMENT. LONG ones begin first, so
# that none is left alone at the end. Suites NOT_UNDER_TSAN take long there and
# have no threads but those that run in the suites beside them, too. Those of directories
# that builds with sanitizers have, too, get the label `sanitized`.
function(rocksync_test name)
  cmake_parse_arguments(ARG "LONG" "TIMEOUT;SHARDS" "SOURCES;LINKS;LABELS;NOT_UNDER_TSAN" ${ARGN})
  rocksync_program(${name} KIND test SOURCES ${ARG_SOURCES}
                   LINKS ${ARG_LINKS} GTest::gtest_main GTest::gmock)
  if(NOT ROCKSYNC_UNSANITIZED)
    list(APPEND ARG_LABELS sanitized)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ${ROCKSYNC_OMIT_SANITIZED})
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(ROCKSYNC_SANITIZE OR ROCKSYNC_COVERAGE)
    # Several times as slow; the limit is for tests that hang.
    math(EXPR ARG_TIMEOUT "3 * ${ARG_TIMEOUT}")
  endif()
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 1)
  endif()
  set(environment ${ROCKSYNC_TEST_ENVIRONMENT})
  if(ARG_NOT_UNDER_TSAN AND ROCKSYNC_SANITIZE MATCHES "thread")
    list(TRANSFORM ARG_NOT_UNDER_TSAN REPLACE "(.+)" "*\\1.*")
    list(JOIN ARG_NOT_UNDER_TSAN ":" filter)
    list(APPEND environment "GTEST_FILTER=-${filter}")
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    set(test ${name})
    if(ARG_SHARDS GREATER 1)
      string(APPEND test "_${shard}_of_${ARG_SHARDS}")
    endif()
    math(EXPR index "${shard} - 1")
    add_test(NAME ${test} COMMAND ${name})
    set_tests_properties(${test} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${index};${environment}")
    if(ARG_LONG)
      set_tests_properties(${test} PROPERTIES COST 60)  # seconds, or so
    endif()
  endforeach()
endfunction()

# rocksync_instrument(TARGET): libFuzzer sees what it reaches there.
function(rocksync_instrument target)
  target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  get_target_property(shared ${target} PRECOMPILE_HEADERS_REUSE_FROM)
  if(shared STREQUAL "rocksync_precompiled_library")
    rocksync_precompile(${target} instrumented)
  elseif(shared)
    set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# rocksync_fuzz(NAME SOURCES ... LINKS ...): a fuzz target, sources with a plain
# LLVMFuzzerTestOneInput. The program fuzz_NAME is libFuzzer's in a build with
# ROCKSYNC_FUZZ (./dev fuzz), which sees what it reaches in its own sources and in
# LINKS, and only a feeder of files in any other; in each a test feeds it the corpus
# tests/fuzz/corpus/NAME, so that what was once found stays found.
function(rocksync_fuzz name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  if(ROCKSYNC_FUZZ)
    rocksync_program(fuzz_${name} SOURCES ${ARG_SOURCES} LINKS ${ARG_LINKS})
    rocksync_instrument(fuzz_${name})
    # What was precompiled for others was not compiled like this.
    set_target_properties(fuzz_${name} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
    foreach(target ${ARG_LINKS})
      get_target_property(aliased ${target} ALIASED_TARGET)
      if(aliased)
        set(target ${aliased})
      endif()
      get_target_property(imported ${target} IMPORTED)
      if(NOT imported)
        rocksync_instrument(${target})
      endif()
    endforeach()
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    set(only_corpus -runs=0)
  else()
    rocksync_program(fuzz_${name}
      SOURCES ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/tests/fuzz/feed_corpus.cc
      LINKS ${ARG_LINKS})
    set(only_corpus "")
  endif()
  add_test(NAME fuzz_${name}_corpus
           COMMAND fuzz_${name} ${only_corpus} ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
  set_tests_properties(fuzz_${name}_corpus PROPERTIES TIMEOUT 300 LABELS fuzz)
endfunction()

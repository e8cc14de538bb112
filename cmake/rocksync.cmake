# What every target of ours has in common, set on targets and never globally.

# rocksync_target_defaults(TARGET): language level, warnings, sanitizers.
function(rocksync_target_defaults target)
  target_compile_features(${target} PUBLIC cxx_std_17)
  set_target_properties(${target} PROPERTIES
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-unused-parameter
    $<$<BOOL:${ROCKSYNC_WERROR}>:-Werror>)
  if(ROCKSYNC_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${ROCKSYNC_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${ROCKSYNC_SANITIZE})
  endif()
endfunction()

# rocksync_library(NAME SOURCES ... LINKS ...): one box of the house as a
# static library. Includes are written from the root of the sources
# ("sketch/digest.h"); public headers as "rocksync/options.h".
function(rocksync_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(rocksync_${name} STATIC ${ARG_SOURCES})
  add_library(rocksync::${name} ALIAS rocksync_${name})
  target_include_directories(rocksync_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
           $<INSTALL_INTERFACE:include>
    PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(rocksync_${name}
    PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
  set_target_properties(rocksync_${name} PROPERTIES EXPORT_NAME ${name})
  rocksync_target_defaults(rocksync_${name})
  set_property(GLOBAL APPEND PROPERTY ROCKSYNC_LIBRARIES rocksync_${name})
endfunction()

# rocksync_program(NAME SOURCES ... LINKS ...): a tool, example or benchmark.
function(rocksync_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS})
  rocksync_target_defaults(${name})
endfunction()

# rocksync_test(NAME SOURCES ... LINKS ... [LABELS ...] [TIMEOUT s]): a
# GoogleTest program, one CTest entry per program.
function(rocksync_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINKS;LABELS" ${ARGN})
  rocksync_program(${name} SOURCES ${ARG_SOURCES}
                   LINKS ${ARG_LINKS} GTest::gtest_main GTest::gmock)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()

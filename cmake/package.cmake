# Debian packages by CPack (./dev package): librocksync0, librocksync-dev,
# rocksync-tools and rocksync-store, each a component of install(). Paths are
# below /usr; a few have to go beside it.
set(packaging ${PROJECT_SOURCE_DIR}/packaging)
set(made ${PROJECT_BINARY_DIR}/packaging)

# Of the store, which an ordinary installation leaves out.
install(PROGRAMS $<TARGET_FILE:replicated_store> DESTINATION ${CMAKE_INSTALL_BINDIR}
        RENAME rocksync-store COMPONENT store EXCLUDE_FROM_ALL)
# Found by the program's name. A copy, as rocksync-tools, which has the other one,
# need not be there.
install(FILES ${packaging}/rocksync.bash DESTINATION share/bash-completion/completions
        RENAME rocksync-store COMPONENT store EXCLUDE_FROM_ALL)
install(FILES ${packaging}/rocksync-store.service DESTINATION ../lib/systemd/system
        COMPONENT store EXCLUDE_FROM_ALL)
install(FILES ${packaging}/rocksync-store.default DESTINATION ../etc/default
        RENAME rocksync-store COMPONENT store EXCLUDE_FROM_ALL)
foreach(component tools store)
  install(DIRECTORY ${made}/docs/operators/ DESTINATION share/doc/rocksync-${component}
          COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
install(DIRECTORY ${made}/docs/programmers/ DESTINATION share/doc/librocksync-dev
        COMPONENT dev EXCLUDE_FROM_ALL)
install(DIRECTORY examples/embed examples/bindings
        DESTINATION share/doc/librocksync-dev/examples
        COMPONENT dev EXCLUDE_FROM_ALL)
# What the examples in other languages are built with, where their documents are.
install(DIRECTORY bindings/go bindings/rust
        DESTINATION share/doc/librocksync-dev/bindings
        COMPONENT dev EXCLUDE_FROM_ALL)
install(DIRECTORY python/rocksync
        DESTINATION share/doc/librocksync-dev/python
        COMPONENT dev EXCLUDE_FROM_ALL PATTERN __pycache__ EXCLUDE)
install(FILES python/pyproject.toml
        DESTINATION share/doc/librocksync-dev/python
        COMPONENT dev EXCLUDE_FROM_ALL)
install(FILES ${made}/man/rocksync-store.1.gz DESTINATION share/man/man1
        COMPONENT store EXCLUDE_FROM_ALL)
install(DIRECTORY ${made}/man/ DESTINATION share/man/man1
        COMPONENT tools EXCLUDE_FROM_ALL PATTERN rocksync-store.1.gz EXCLUDE)

set(components)
function(rocksync_package component package section summary description)
  install(FILES ${packaging}/copyright DESTINATION share/doc/${package}
          COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${made}/changelog.Debian.gz DESTINATION share/doc/${package}
          COMPONENT ${component} EXCLUDE_FROM_ALL)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}\n${description}" PARENT_SCOPE)
  set(components ${components} ${component} PARENT_SCOPE)
endfunction()
rocksync_package(runtime librocksync0 libs
  "replicated RocksDB databases, C interface"
  "A RocksDB database that can be made equal to its replicas, for programs that\nreach RocksDB by its C interface.")
rocksync_package(dev librocksync-dev libdevel
  "replicated RocksDB databases, headers and static libraries"
  "Headers, static libraries and a CMake package for C++, the files to link with\nlibrocksync0, the documents, examples, and packages for Go, Rust and Python as\nsources.")
rocksync_package(tools rocksync-tools database
  "tools for replicated RocksDB databases"
  "The program rocksync shows the status of replicas, compares them, serves their\nstatistics to Prometheus, and repairs offline databases.")
rocksync_package(store rocksync-store database
  "replicated key-value store with a Redis port"
  "Replicas of a key-value store that all take writes, may be disconnected, and\nbecome equal when they connect again. Runs as a service with its own user.")

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(ROCKSYNC_PACKAGE_DATE ${date})
configure_file(${packaging}/changelog.in ${made}/changelog.Debian @ONLY)
foreach(script postinst prerm postrm conffiles)
  configure_file(${packaging}/rocksync-store.${script} ${made}/store/${script} COPYONLY)
endforeach()

# What is in them.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # CPack would build all of the tests
add_custom_target(all_packaged)
add_dependencies(all_packaged ${rocksync_libraries} rocksync_c rocksync replicated_store
                 rocksync_filter_preload)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rocksync)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGE_CONTACT "The authors of rocksync <rocksync@localhost>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${packaging}/strip.cmake)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# Which package a program needs that is linked with the library.
file(WRITE ${made}/runtime/shlibs "librocksync 0 librocksync0 (>= ${PROJECT_VERSION}-1)\n")
foreach(component runtime tools)
  configure_file(${packaging}/triggers ${made}/${component}/triggers COPYONLY)
endforeach()
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${made}/runtime/shlibs ${made}/runtime/triggers)
set(CPACK_DEBIAN_TOOLS_PACKAGE_CONTROL_EXTRA ${made}/tools/triggers)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "librocksync0 (= ${PROJECT_VERSION}-1), librocksdb-dev, libxxhash-dev, libssl-dev, libabsl-dev, pkg-config")
set(CPACK_DEBIAN_STORE_PACKAGE_DEPENDS adduser)
# Ids, certificates and status; and a client.
set(CPACK_DEBIAN_STORE_PACKAGE_RECOMMENDS rocksync-tools)
set(CPACK_DEBIAN_STORE_PACKAGE_SUGGESTS redis-tools)
set(CPACK_DEBIAN_STORE_PACKAGE_CONTROL_EXTRA
    ${made}/store/postinst ${made}/store/prerm ${made}/store/postrm ${made}/store/conffiles)
include(CPack)

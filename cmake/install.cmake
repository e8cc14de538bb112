include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Components are the Debian packages of cmake/package.cmake.
get_property(rocksync_libraries GLOBAL PROPERTY ROCKSYNC_LIBRARIES)
install(TARGETS ${rocksync_libraries} EXPORT rocksync-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
# Found from where the file lies, so that it fits any prefix.
file(RELATIVE_PATH from_libdir /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/packaging/rocksync-filter.pc.in
               ${PROJECT_BINARY_DIR}/packaging/rocksync-filter.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/packaging/rocksync-filter.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
if(ROCKSYNC_HAS_C)
  install(TARGETS rocksync_c EXPORT rocksync-targets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime
          NAMELINK_COMPONENT dev)
  configure_file(${PROJECT_SOURCE_DIR}/packaging/rocksync.pc.in
                 ${PROJECT_BINARY_DIR}/packaging/rocksync.pc @ONLY)
  # By the names of their files: the library to preload is a librocksync_filter.so.
  set(cpp_libraries)
  foreach(library ${rocksync_libraries})
    get_target_property(type ${library} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
      list(APPEND cpp_libraries -l:lib${library}.a)
    endif()
  endforeach()
  list(JOIN cpp_libraries " " cpp_libraries)
  configure_file(${PROJECT_SOURCE_DIR}/packaging/rocksync-cpp.pc.in
                 ${PROJECT_BINARY_DIR}/packaging/rocksync-cpp.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/packaging/rocksync.pc
                ${PROJECT_BINARY_DIR}/packaging/rocksync-cpp.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endif()
if(TARGET rocksync)  # the program
  install(TARGETS rocksync RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/rocksync.bash
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          RENAME rocksync COMPONENT tools)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rocksync
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
install(EXPORT rocksync-targets NAMESPACE rocksync::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rocksync COMPONENT dev)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/rocksync-config.cmake.in
  ${PROJECT_BINARY_DIR}/rocksync-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rocksync)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rocksync-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rocksync-config.cmake
              ${PROJECT_BINARY_DIR}/rocksync-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rocksync COMPONENT dev)
if(PROJECT_IS_TOP_LEVEL AND ROCKSYNC_HAS_C AND TARGET replicated_store)
  include(cmake/package.cmake)
endif()

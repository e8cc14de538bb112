include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(rocksync_libraries GLOBAL PROPERTY ROCKSYNC_LIBRARIES)
install(TARGETS ${rocksync_libraries} EXPORT rocksync-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(ROCKSYNC_HAS_C)
  install(TARGETS rocksync_c EXPORT rocksync-targets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET rocksync)  # the program
  install(TARGETS rocksync RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rocksync
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT rocksync-targets NAMESPACE rocksync::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rocksync)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/rocksync-config.cmake.in
  ${PROJECT_BINARY_DIR}/rocksync-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rocksync)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rocksync-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rocksync-config.cmake
              ${PROJECT_BINARY_DIR}/rocksync-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rocksync)

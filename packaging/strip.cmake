# CPack strips the targets that it installs; Debian wants no debug information in
# static libraries, and in the store, which is installed under another name.
file(GLOB_RECURSE archives ${CPACK_TEMPORARY_DIRECTORY}/*.a)
foreach(archive ${archives})
  execute_process(COMMAND strip --strip-debug --enable-deterministic-archives ${archive}
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(GLOB_RECURSE programs ${CPACK_TEMPORARY_DIRECTORY}/rocksync-store)
list(FILTER programs INCLUDE REGEX "/bin/rocksync-store$")
foreach(program ${programs})
  execute_process(COMMAND strip --strip-unneeded ${program} COMMAND_ERROR_IS_FATAL ANY)
endforeach()

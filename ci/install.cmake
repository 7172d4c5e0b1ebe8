# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` gives to authors of ports: the tool with its corpus, the contract's headers, and the suite as
# libraries and objects for fuzz programs of their own. Everything is found from where it lies, so the tree may be moved.
# Builds with different sanitizers go to one prefix and do not meet: what differs lies in a folder of the sanitizer's name.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(suite_dir ${CMAKE_INSTALL_LIBDIR}/paldiff/${PALDIFF_SANITIZER})
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/paldiff)
set(data_dir ${CMAKE_INSTALL_DATADIR}/paldiff)
set(tool_suffix -${PALDIFF_SANITIZER})
if(PALDIFF_SANITIZER STREQUAL "none")
  set(tool_suffix "")
endif()

# The contract's own code, for ports: names of statuses, and tokens.
add_library(paldiff_contract STATIC lib/status.c lib/token.c)
target_link_libraries(paldiff_contract PRIVATE paldiff_base)
set_target_properties(paldiff_contract PROPERTIES OUTPUT_NAME pal POSITION_INDEPENDENT_CODE ON)
if(NOT TARGET paldiff_driver)
  add_library(paldiff_driver OBJECT targets/driver.c)
  target_link_libraries(paldiff_driver PUBLIC paldiff_fuzz_suite)
endif()

install(PROGRAMS $<TARGET_FILE:paldiff> DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME paldiff${tool_suffix})
install(FILES lib/pal.h lib/status.def lib/token.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/paldiff)
foreach(library contract lib mutants)
  install(FILES $<TARGET_FILE:paldiff_${library}> DESTINATION ${suite_dir})
endforeach()
install(FILES $<TARGET_FILE:paldiff_fuzz_suite> DESTINATION ${suite_dir} RENAME libpaldiff_suite.a)
foreach(engine openssl boringssl)
  install(FILES ${CMAKE_BINARY_DIR}/libpaldiff_engine_${engine}.a DESTINATION ${suite_dir})
endforeach()
install(FILES $<TARGET_OBJECTS:paldiff_driver> DESTINATION ${suite_dir}/driver)
foreach(name IN LISTS target_names)
  install(FILES $<TARGET_OBJECTS:fuzz_${name}> DESTINATION ${suite_dir}/entry/${name})
endforeach()
install(DIRECTORY corpus DESTINATION ${data_dir})
install(DIRECTORY targets/ports/sample DESTINATION ${data_dir})
install(FILES targets/ports/PROTOCOL.md DESTINATION ${data_dir})
install(DIRECTORY targets/ports/python DESTINATION ${data_dir} PATTERN mutants EXCLUDE PATTERN __pycache__ EXCLUDE)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
# A page for each rule, from the program's own tables.
install(CODE "execute_process(COMMAND \"$<TARGET_FILE:paldiff>\" conform --pages
  \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/paldiff/rules\" COMMAND_ERROR_IS_FATAL ANY)")

set(PALDIFF_TARGETS ${target_names})
configure_package_config_file(ci/paldiff-config.cmake.in paldiff-config.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR data_dir)
write_basic_package_version_file(paldiff-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/paldiff-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/paldiff-config-version.cmake
  ci/seeds_test.cmake ci/port.map DESTINATION ${package_dir})
# The way from the file up to the prefix, however deep the library folder lies.
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" up "${up}")
configure_file(ci/paldiff.pc.in paldiff.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/paldiff.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

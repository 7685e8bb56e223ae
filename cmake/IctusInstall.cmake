# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` puts where. The tree may be moved afterwards: every path in it is relative, but for that
# of systemd units.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ictus)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ictus DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(TARGETS ictus_lock_shared EXPORT ictus-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ictus_lock_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ictus_shared EXPORT ictus-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ictus_static EXPORT ictus-static-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT ictus-targets NAMESPACE ictus:: DESTINATION ${package_dir})
install(EXPORT ictus-static-targets NAMESPACE ictus:: DESTINATION ${package_dir})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ictus-config.cmake.in
  ${PROJECT_BINARY_DIR}/ictus-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ictus-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ictus-config.cmake ${PROJECT_BINARY_DIR}/ictus-config-version.cmake
  DESTINATION ${package_dir})

# pkg-config: the prefix is found from where the file lies.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(PC_PREFIX ${CMAKE_INSTALL_PREFIX})
  set(PC_LIBDIR ${CMAKE_INSTALL_LIBDIR})
else()
  file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" up ${up})
  set(PC_PREFIX \${pcfiledir}/${up})
  set(PC_LIBDIR \${prefix}/${CMAKE_INSTALL_LIBDIR})
endif()
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(PC_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
else()
  set(PC_INCLUDEDIR \${prefix}/${CMAKE_INSTALL_INCLUDEDIR})
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/ictus.pc.in ${PROJECT_BINARY_DIR}/ictus.pc @ONLY)
set(PC_LOCK_REQUIRES "")
if(ICTUS_WITH_NETTLE)
  set(PC_LOCK_REQUIRES nettle)
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/ictus-lock.pc.in ${PROJECT_BINARY_DIR}/ictus-lock.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ictus.pc ${PROJECT_BINARY_DIR}/ictus-lock.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(ICTUS_WITH_OTF2)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/ictus-otf2.pc.in ${PROJECT_BINARY_DIR}/ictus-otf2.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/ictus-otf2.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# Whatever the manual pages cite lies there, under the same names as in the source.
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/NEWS.md ${PROJECT_SOURCE_DIR}/LICENSE
  ${PROJECT_SOURCE_DIR}/CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
  FILES_MATCHING PATTERN "*.md" PATTERN "*.json" PATTERN "*.png" PATTERN "*.svg" PATTERN man EXCLUDE)
set(ICTUS_UNIT_PROGRAM "" CACHE STRING "What systemd units start; empty: ictus where it is installed")
configure_file(${PROJECT_SOURCE_DIR}/cmake/InstallUnits.cmake.in ${PROJECT_BINARY_DIR}/InstallUnits.cmake @ONLY)
install(SCRIPT ${PROJECT_BINARY_DIR}/InstallUnits.cmake)
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DMANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt
  -P ${PROJECT_SOURCE_DIR}/cmake/Uninstall.cmake VERBATIM)

# A module file for Environment Modules and Lmod: share/modulefiles/ictus/VERSION.
configure_file(${PROJECT_SOURCE_DIR}/packaging/modulefile.in ${PROJECT_BINARY_DIR}/modulefile @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/modulefile DESTINATION ${CMAKE_INSTALL_DATADIR}/modulefiles/ictus
  RENAME ${PROJECT_VERSION})

# Debian packages by CPack: `cpack -G DEB --config build/release/CPackConfig.cmake` writes one of the program with its
# data, manual pages and completions, one of the library, and one of mirfak-measure where MPI is there. What they depend
# on is read from the programs (dpkg-shlibdeps).
set(CPACK_PACKAGE_NAME mirfak)
set(CPACK_PACKAGE_VENDOR "mirfak")
set(CPACK_PACKAGE_CONTACT "mirfak maintainers <maintainers@users.noreply.github.com>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program data library)
if(TARGET mirfak-measure)
  list(APPEND CPACK_COMPONENTS_ALL measure)
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME mirfak)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libmirfak-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "mirfak, libboost-dev, libboost-graph-dev, libboost-program-options-dev, \
libeigen3-dev, libfmt-dev, libyaml-dev, nlohmann-json3-dev, rapidjson-dev, zlib1g-dev, libsqlite3-dev, \
libexpat1-dev, libtomlplusplus-dev, libprotobuf-dev, libtbb-dev")
set(CPACK_DEBIAN_MEASURE_PACKAGE_NAME mirfak-measure)
set(CPACK_DEBIAN_MEASURE_PACKAGE_DEPENDS "mirfak, openmpi-bin")
set(CPACK_COMPONENT_PROGRAM_GROUP program)
set(CPACK_COMPONENT_DATA_GROUP program)
set(CPACK_COMPONENT_LIBRARY_GROUP library)
set(CPACK_COMPONENT_MEASURE_GROUP measure)
set(CPACK_COMPONENT_GROUP_PROGRAM_DESCRIPTION
    "Predicts what an iteration of training a model on a cluster of GPUs takes, where time goes, whether it fits in memory, and what it costs.")
set(CPACK_COMPONENT_GROUP_LIBRARY_DESCRIPTION "Headers and static libraries for C++, found by find_package(mirfak).")
set(CPACK_COMPONENT_GROUP_MEASURE_DESCRIPTION "Executes programs of mirfak on real machines and measures their parts.")
include(CPack)

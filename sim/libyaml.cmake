# libyaml, which Debian packages without a file for CMake: the target mirfak::libyaml.
find_path(LIBYAML_INCLUDE_DIR yaml.h REQUIRED)
find_library(LIBYAML_LIBRARY yaml REQUIRED)
mark_as_advanced(LIBYAML_INCLUDE_DIR LIBYAML_LIBRARY)
if(NOT TARGET mirfak::libyaml)
  add_library(mirfak::libyaml UNKNOWN IMPORTED)
  set_target_properties(mirfak::libyaml PROPERTIES
    IMPORTED_LOCATION "${LIBYAML_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${LIBYAML_INCLUDE_DIR}")
endif()

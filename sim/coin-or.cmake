# COIN-OR CBC, which Debian packages without a file for CMake: the target mirfak::cbc.
find_path(COIN_OR_INCLUDE_DIR CbcModel.hpp PATH_SUFFIXES coin REQUIRED)
set(coin_or_libraries "")
foreach(name Cbc Cgl OsiClp Clp Osi CoinUtils)
  find_library(COIN_OR_${name}_LIBRARY ${name} REQUIRED)
  mark_as_advanced(COIN_OR_${name}_LIBRARY)
  list(APPEND coin_or_libraries "${COIN_OR_${name}_LIBRARY}")
endforeach()
mark_as_advanced(COIN_OR_INCLUDE_DIR)
if(NOT TARGET mirfak::cbc)
  add_library(mirfak::cbc INTERFACE IMPORTED)
  set_target_properties(mirfak::cbc PROPERTIES
    INTERFACE_LINK_LIBRARIES "${coin_or_libraries}"
    INTERFACE_INCLUDE_DIRECTORIES "${COIN_OR_INCLUDE_DIR}")
endif()

// The late library that is linked with HDF5 (base/late_library.hpp). HDF5 is linked with more than thirty other
// libraries, to read from the network among others.

#include "trace/hdf5_library.hpp"

// Called by hdf5_file.cpp alone, by its name.
extern "C" const mirfak::Hdf5Library* mirfak_hdf5_library() {
  static const mirfak::Hdf5Library library;
  return &library;
}

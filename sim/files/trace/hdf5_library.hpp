#pragma once

#include <hdf5.h>

namespace mirfak {

// Functions and identifiers of the HDF5 library, under the library's names. Only hdf5_library.cpp makes an object of
// this type: nothing else is linked with HDF5.
struct Hdf5Library {
  decltype(&::H5Aclose) H5Aclose = ::H5Aclose;
  decltype(&::H5Acreate_by_name) H5Acreate_by_name = ::H5Acreate_by_name;
  decltype(&::H5Aexists_by_name) H5Aexists_by_name = ::H5Aexists_by_name;
  decltype(&::H5Aget_space) H5Aget_space = ::H5Aget_space;
  decltype(&::H5Aget_type) H5Aget_type = ::H5Aget_type;
  decltype(&::H5Aopen_by_name) H5Aopen_by_name = ::H5Aopen_by_name;
  decltype(&::H5Aread) H5Aread = ::H5Aread;
  decltype(&::H5Awrite) H5Awrite = ::H5Awrite;
  decltype(&::H5Dclose) H5Dclose = ::H5Dclose;
  decltype(&::H5Dcreate2) H5Dcreate2 = ::H5Dcreate2;
  decltype(&::H5Dget_space) H5Dget_space = ::H5Dget_space;
  decltype(&::H5Dget_type) H5Dget_type = ::H5Dget_type;
  decltype(&::H5Dopen2) H5Dopen2 = ::H5Dopen2;
  decltype(&::H5Dread) H5Dread = ::H5Dread;
  decltype(&::H5Dset_extent) H5Dset_extent = ::H5Dset_extent;
  decltype(&::H5Dwrite) H5Dwrite = ::H5Dwrite;
  decltype(&::H5Eclear2) H5Eclear2 = ::H5Eclear2;
  decltype(&::H5Eset_auto2) H5Eset_auto2 = ::H5Eset_auto2;
  decltype(&::H5Ewalk2) H5Ewalk2 = ::H5Ewalk2;
  decltype(&::H5Fclose) H5Fclose = ::H5Fclose;
  decltype(&::H5Fcreate) H5Fcreate = ::H5Fcreate;
  decltype(&::H5Fflush) H5Fflush = ::H5Fflush;
  decltype(&::H5Fget_file_image) H5Fget_file_image = ::H5Fget_file_image;
  decltype(&::H5Fopen) H5Fopen = ::H5Fopen;
  decltype(&::H5Gclose) H5Gclose = ::H5Gclose;
  decltype(&::H5Gcreate2) H5Gcreate2 = ::H5Gcreate2;
  decltype(&::H5Lexists) H5Lexists = ::H5Lexists;
  decltype(&::H5Pclose) H5Pclose = ::H5Pclose;
  decltype(&::H5Pcreate) H5Pcreate = ::H5Pcreate;
  decltype(&::H5Pset_chunk) H5Pset_chunk = ::H5Pset_chunk;
  decltype(&::H5Pset_deflate) H5Pset_deflate = ::H5Pset_deflate;
  decltype(&::H5Pset_fapl_core) H5Pset_fapl_core = ::H5Pset_fapl_core;
  decltype(&::H5Pset_fclose_degree) H5Pset_fclose_degree = ::H5Pset_fclose_degree;
  decltype(&::H5Pset_istore_k) H5Pset_istore_k = ::H5Pset_istore_k;
  decltype(&::H5Pset_obj_track_times) H5Pset_obj_track_times = ::H5Pset_obj_track_times;
  decltype(&::H5Pset_shuffle) H5Pset_shuffle = ::H5Pset_shuffle;
  decltype(&::H5Sclose) H5Sclose = ::H5Sclose;
  decltype(&::H5Screate) H5Screate = ::H5Screate;
  decltype(&::H5Screate_simple) H5Screate_simple = ::H5Screate_simple;
  decltype(&::H5Sget_simple_extent_npoints) H5Sget_simple_extent_npoints = ::H5Sget_simple_extent_npoints;
  decltype(&::H5Sselect_hyperslab) H5Sselect_hyperslab = ::H5Sselect_hyperslab;
  decltype(&::H5Tclose) H5Tclose = ::H5Tclose;
  decltype(&::H5Tcopy) H5Tcopy = ::H5Tcopy;
  decltype(&::H5Tenum_create) H5Tenum_create = ::H5Tenum_create;
  decltype(&::H5Tenum_insert) H5Tenum_insert = ::H5Tenum_insert;
  decltype(&::H5Tget_class) H5Tget_class = ::H5Tget_class;
  decltype(&::H5Tget_size) H5Tget_size = ::H5Tget_size;
  decltype(&::H5Tis_variable_str) H5Tis_variable_str = ::H5Tis_variable_str;
  decltype(&::H5Tset_cset) H5Tset_cset = ::H5Tset_cset;
  decltype(&::H5Tset_size) H5Tset_size = ::H5Tset_size;
  decltype(&::H5Tset_strpad) H5Tset_strpad = ::H5Tset_strpad;

  unsigned read_only = H5F_ACC_RDONLY;
  unsigned truncate = H5F_ACC_TRUNC;
  hid_t file_creation = H5P_FILE_CREATE;
  hid_t file_access = H5P_FILE_ACCESS;
  hid_t group_creation = H5P_GROUP_CREATE;
  hid_t dataset_creation = H5P_DATASET_CREATE;
  hid_t text = H5T_C_S1;
  hid_t int8 = H5T_NATIVE_INT8;
  hid_t uint8 = H5T_NATIVE_UINT8;
  hid_t int32 = H5T_NATIVE_INT32;
  hid_t uint32 = H5T_NATIVE_UINT32;
  hid_t int64 = H5T_NATIVE_INT64;
  hid_t float64 = H5T_NATIVE_DOUBLE;
};

}  // namespace mirfak

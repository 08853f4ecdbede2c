// A file is made in memory and written in one go when it is complete: HDF5 1.10 cannot close a file that its disk has
// no room for, and would keep it, and its memory, until the process ends. Columns are compressed as they grow, to some
// 3 bytes a task of a trace.

#include "trace/hdf5_file.hpp"

#include "base/error.hpp"
#include "base/origin.hpp"
#include "base/read_files.hpp"
#include "base/staged_file.hpp"
#include "base/visible_text.hpp"

#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <type_traits>
#include <utility>

namespace mirfak {

namespace {

static_assert(std::is_same_v<hid_t, Hdf5Handle::Id>);

constexpr std::size_t kMemoryStep = std::size_t{1} << 20;  // bytes by which a file under construction grows
constexpr unsigned kIndexRank = 4;
constexpr unsigned kDeflateLevel = 1;  // after shuffling, higher levels gain a few percent and cost twice the time

constexpr hsize_t kManyTexts = 4096;  // a table of so many is compressed

void quieten() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

herr_t keep_innermost(unsigned, const H5E_error2_t* error, void* out) {
  auto& reason = *static_cast<std::string*>(out);
  if (reason.empty() && error->desc != nullptr) reason = error->desc;
  return 0;
}

std::string last_reason() {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &reason);
  H5Eclear2(H5E_DEFAULT);  // of this thread: one that ends with errors on its stack keeps the library from closing
  return reason.empty() ? "no reason given" : reason;
}

hid_t make_bool_type() {
  const hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
  for (const auto& [name, value] : {std::pair("FALSE", Hdf5Bool::no), std::pair("TRUE", Hdf5Bool::yes)}) {
    H5Tenum_insert(type, name, &value);
  }
  return type;
}

hid_t bool_type() {
  static const hid_t type = make_bool_type();  // lives as long as the library
  return type;
}

template <typename T>
hid_t type_of() {
  if constexpr (std::is_same_v<T, Hdf5Bool>) return bool_type();
  if constexpr (std::is_same_v<T, std::int64_t>) return H5T_NATIVE_INT64;
  if constexpr (std::is_same_v<T, double>) return H5T_NATIVE_DOUBLE;
  if constexpr (std::is_same_v<T, std::uint8_t>) return H5T_NATIVE_UINT8;
  if constexpr (std::is_same_v<T, std::int32_t>) return H5T_NATIVE_INT32;
  if constexpr (std::is_same_v<T, std::uint32_t>) return H5T_NATIVE_UINT32;
}

Hdf5Handle text_type(std::size_t length) {
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.id(), std::max<std::size_t>(1, length));
  H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
  H5Tset_cset(type.id(), H5T_CSET_UTF8);
  return type;
}

Hdf5Handle without_dates(hid_t property_class) {
  Hdf5Handle properties(H5Pcreate(property_class), H5Pclose);
  H5Pset_obj_track_times(properties.id(), false);
  return properties;
}

std::string trimmed(const char* text, std::size_t length) {
  const char* end = std::find(text, text + length, '\0');
  return {text, end};
}

}  // namespace

int Hdf5Handle::release_now() {
  if (release_ == nullptr) return 0;
  const int result = release_(id_);
  release_ = nullptr;
  return result;
}

Hdf5Handle::Id Hdf5File::checked(Hdf5Handle::Id result, const std::string& what) const {
  if (result < 0) fail_internal(fmt::format("{}: {} failed: {}", path_, what, last_reason()));
  return result;
}

Hdf5File::Turn Hdf5File::take_turn() {
  static std::recursive_mutex turn;
  return Turn(turn);
}

Hdf5File Hdf5File::create(const std::filesystem::path& path) {
  const Turn turn = take_turn();
  quieten();
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access.id(), kMemoryStep, false);
  // A file is closed with all that is still open in it, so that none outlives an error.
  H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG);
  // Small index nodes: most datasets have one chunk.
  const Hdf5Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  H5Pset_istore_k(creation.id(), kIndexRank);
  Hdf5File file(path, take_turn(), Hdf5Handle());
  file.file_ = Hdf5Handle(
      file.checked(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.id(), access.id()), "creating the file"), H5Fclose);
  return file;
}

Hdf5File Hdf5File::open(const std::filesystem::path& path) {
  const Turn turn = take_turn();
  quieten();
  note_read_file(path);
  Hdf5File file(path, take_turn(), Hdf5Handle());
  file.file_ =
      Hdf5Handle(file.checked(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "opening the file"), H5Fclose);
  return file;
}

void Hdf5File::write_out() {
  checked(H5Fflush(file_.id(), H5F_SCOPE_LOCAL), "completing the file");
  const auto size = static_cast<std::size_t>(checked(H5Fget_file_image(file_.id(), nullptr, 0), "measuring the file"));
  std::vector<char> image(size);
  checked(H5Fget_file_image(file_.id(), image.data(), size), "completing the file");
  checked(file_.release_now(), "closing the file");
  std::ofstream out(path_, std::ios::binary | std::ios::trunc);
  out.write(image.data(), static_cast<std::streamsize>(size));
  out.close();
  if (!out) fail_to_write(path_, errno);
}

void Hdf5File::add_group(const std::string& name) {
  const Hdf5Handle properties = without_dates(H5P_GROUP_CREATE);
  const Hdf5Handle group(
      checked(H5Gcreate2(file_.id(), name.c_str(), H5P_DEFAULT, properties.id(), H5P_DEFAULT), "adding " + name),
      H5Gclose);
}

void Hdf5File::write_attribute(const std::string& object, const char* name, Hdf5Handle::Id type, const void* value) {
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Hdf5Handle attribute(checked(H5Acreate_by_name(file_.id(), object.c_str(), name, type, space.id(), H5P_DEFAULT,
                                                       H5P_DEFAULT, H5P_DEFAULT),
                                     std::string("adding attribute ") + name),
                             H5Aclose);
  checked(H5Awrite(attribute.id(), type, value), std::string("writing attribute ") + name);
}

void Hdf5File::write_attribute(const std::string& object, const char* name, double value) {
  write_attribute(object, name, H5T_NATIVE_DOUBLE, &value);
}

void Hdf5File::write_attribute(const std::string& object, const char* name, std::int64_t value) {
  write_attribute(object, name, H5T_NATIVE_INT64, &value);
}

void Hdf5File::write_attribute(const std::string& object, const char* name, std::string_view text) {
  std::string padded = visible_text(std::string(text));  // the type of texts is UTF-8
  padded.resize(std::max<std::size_t>(1, padded.size()));
  write_attribute(object, name, text_type(padded.size()).id(), padded.data());
}

void Hdf5File::write_fixed_texts(const std::string& name, std::span<const std::string_view> texts, bool scalar) {
  std::size_t longest = 1;
  for (const std::string_view text : texts) longest = std::max(longest, text.size());
  std::string padded;
  for (const std::string_view text : texts) {
    padded += text;
    padded.append(longest - text.size(), '\0');
  }
  const Hdf5Handle type = text_type(longest);
  const hsize_t count = texts.size();
  const Hdf5Handle space(scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, nullptr), H5Sclose);
  const Hdf5Handle properties = without_dates(H5P_DATASET_CREATE);
  if (count >= kManyTexts) {  // padding deflates to nothing
    H5Pset_chunk(properties.id(), 1, &kManyTexts);
    H5Pset_deflate(properties.id(), kDeflateLevel);
  }
  const Hdf5Handle dataset(
      checked(H5Dcreate2(file_.id(), name.c_str(), type.id(), space.id(), H5P_DEFAULT, properties.id(), H5P_DEFAULT),
              "adding " + name),
      H5Dclose);
  if (texts.empty()) return;
  checked(H5Dwrite(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data()), "writing " + name);
}

void Hdf5File::write(const std::string& name, std::string_view text) { write_fixed_texts(name, {&text, 1}, true); }

void Hdf5File::write(const std::string& name, std::span<const std::string> texts) {
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  write_fixed_texts(name, views, false);
}

bool Hdf5File::has(const std::string& name) const { return H5Lexists(file_.id(), name.c_str(), H5P_DEFAULT) > 0; }

bool Hdf5File::has_attribute(const std::string& object, const char* name) const {
  return checked(H5Aexists_by_name(file_.id(), object.c_str(), name, H5P_DEFAULT),
                 std::string("finding attribute ") + name) > 0;
}

double Hdf5File::read_number(const std::string& object, const char* name) const {
  const Hdf5Handle attribute(checked(H5Aopen_by_name(file_.id(), object.c_str(), name, H5P_DEFAULT, H5P_DEFAULT),
                                     std::string("opening attribute ") + name),
                             H5Aclose);
  double value = 0;
  checked(H5Aread(attribute.id(), H5T_NATIVE_DOUBLE, &value), std::string("reading attribute ") + name);
  return value;
}

std::string Hdf5File::read_text(const std::string& object, const char* name) const {
  const Hdf5Handle attribute(checked(H5Aopen_by_name(file_.id(), object.c_str(), name, H5P_DEFAULT, H5P_DEFAULT),
                                     std::string("opening attribute ") + name),
                             H5Aclose);
  const Hdf5Handle type(checked(H5Aget_type(attribute.id()), "its type"), H5Tclose);
  std::string text(H5Tget_size(type.id()), '\0');
  checked(H5Aread(attribute.id(), type.id(), text.data()), std::string("reading attribute ") + name);
  return trimmed(text.data(), text.size());
}

std::vector<std::string> Hdf5File::read_fixed_texts(const std::string& name) const {
  const Hdf5Handle dataset(checked(H5Dopen2(file_.id(), name.c_str(), H5P_DEFAULT), "opening " + name), H5Dclose);
  const Hdf5Handle type(checked(H5Dget_type(dataset.id()), "its type"), H5Tclose);
  const Hdf5Handle space(checked(H5Dget_space(dataset.id()), "its size"), H5Sclose);
  if (H5Tget_class(type.id()) != H5T_STRING || H5Tis_variable_str(type.id()) > 0) {
    fail_internal(fmt::format("{}: {} holds no texts of fixed length", path_, name));
  }
  const std::size_t length = H5Tget_size(type.id());
  const auto count = static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.id()));
  std::string padded(length * count, '\0');
  if (count > 0) {
    checked(H5Dread(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data()), "reading " + name);
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) texts.push_back(trimmed(padded.data() + i * length, length));
  return texts;
}

std::string Hdf5File::read_text(const std::string& name) const { return read_fixed_texts(name).at(0); }

std::vector<std::string> Hdf5File::read_texts(const std::string& name) const { return read_fixed_texts(name); }

template <typename T>
std::vector<T> Hdf5File::read_column(const std::string& name) const {
  const Hdf5Handle dataset(checked(H5Dopen2(file_.id(), name.c_str(), H5P_DEFAULT), "opening " + name), H5Dclose);
  const Hdf5Handle space(checked(H5Dget_space(dataset.id()), "its size"), H5Sclose);
  std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.id())));
  checked(H5Dread(dataset.id(), type_of<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "reading " + name);
  return values;
}

template <typename T>
Hdf5Column<T>::Hdf5Column(Hdf5File& file, std::string name) : file_(file), name_(std::move(name)) {
  const hsize_t none = 0;
  const hsize_t unlimited = H5S_UNLIMITED;
  const hsize_t chunk = kChunk;
  const Hdf5Handle space(H5Screate_simple(1, &none, &unlimited), H5Sclose);
  const Hdf5Handle properties = without_dates(H5P_DATASET_CREATE);
  H5Pset_chunk(properties.id(), 1, &chunk);
  H5Pset_shuffle(properties.id());
  H5Pset_deflate(properties.id(), kDeflateLevel);
  dataset_ = Hdf5Handle(file.checked(H5Dcreate2(file.file_.id(), name_.c_str(), type_of<T>(), space.id(), H5P_DEFAULT,
                                                properties.id(), H5P_DEFAULT),
                                     "adding " + name_),
                        H5Dclose);
}

template <typename T>
void Hdf5Column<T>::flush() {
  const hsize_t begin = written_;
  const hsize_t count = buffer_.size();
  const hsize_t size = begin + count;
  file_.checked(H5Dset_extent(dataset_.id(), &size), "extending " + name_);
  const Hdf5Handle all(H5Dget_space(dataset_.id()), H5Sclose);
  H5Sselect_hyperslab(all.id(), H5S_SELECT_SET, &begin, nullptr, &count, nullptr);
  const Hdf5Handle part(H5Screate_simple(1, &count, nullptr), H5Sclose);
  file_.checked(H5Dwrite(dataset_.id(), type_of<T>(), part.id(), all.id(), H5P_DEFAULT, buffer_.data()),
                "writing " + name_);
  written_ = size;
  buffer_.clear();
}

template class Hdf5Column<Hdf5Bool>;
template class Hdf5Column<std::int64_t>;
template class Hdf5Column<std::uint8_t>;
template class Hdf5Column<std::int32_t>;
template class Hdf5Column<std::uint32_t>;
template class Hdf5Column<double>;
template std::vector<std::uint8_t> Hdf5File::read_column(const std::string&) const;
template std::vector<std::int32_t> Hdf5File::read_column(const std::string&) const;
template std::vector<std::uint32_t> Hdf5File::read_column(const std::string&) const;
template std::vector<std::int64_t> Hdf5File::read_column(const std::string&) const;
template std::vector<double> Hdf5File::read_column(const std::string&) const;

void write_origin(Hdf5File& file) {
  const Origin made_with = origin();
  file.write_attribute("/", "program_version", made_with.program_version);
  if (!made_with.data_hash.empty()) file.write_attribute("/", "data_hash", std::string_view(made_with.data_hash));
}

}  // namespace mirfak

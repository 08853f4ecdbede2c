// A file is made in memory and written in one go when it is complete: HDF5 1.10 cannot close a file that does not fit
// on its disk, and would keep the file and its memory until the process ends. Columns are compressed as they grow, to
// about 3 bytes a task of a trace.

#include "trace/hdf5_file.hpp"

#include "base/error.hpp"
#include "base/late_library.hpp"
#include "base/origin.hpp"
#include "base/read_files.hpp"
#include "base/staged_file.hpp"
#include "base/visible_text.hpp"
#include "trace/hdf5_library.hpp"
#include "trace/reading_process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <type_traits>
#include <utility>

namespace mirfak {

namespace {

static_assert(std::is_same_v<hid_t, Hdf5Handle::Id>);

constexpr std::size_t kMemoryStep = std::size_t{1} << 20;  // bytes by which a file under construction grows
constexpr unsigned kIndexRank = 4;
constexpr unsigned kDeflateLevel = 1;  // after shuffling, higher levels save a few percent and take twice the time

// True in a child process, which needs no turn: the thread that held the turn at the fork does not exist in the child,
// and the child has only one thread.
bool alone_in_process = false;

constexpr hsize_t kManyTexts = 4096;  // tables of at least this many texts are compressed

const Hdf5Library& hdf5() {
  using Find = const Hdf5Library* (*)();
  static const Hdf5Library& library = *reinterpret_cast<Find>(late_function("hdf5", "mirfak_hdf5_library"))();
  return library;
}

void quieten() { hdf5().H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

herr_t keep_innermost(unsigned, const H5E_error2_t* error, void* out) {
  auto& reason = *static_cast<std::string*>(out);
  if (reason.empty() && error->desc != nullptr) reason = error->desc;
  return 0;
}

std::string last_reason() {
  std::string reason;
  hdf5().H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &reason);
  hdf5().H5Eclear2(H5E_DEFAULT);  // the thread's errors: a thread that ends with errors keeps the library from closing
  return reason.empty() ? "no reason given" : reason;
}

hid_t make_bool_type() {
  const hid_t type = hdf5().H5Tenum_create(hdf5().int8);
  for (const auto& [name, value] : {std::pair("FALSE", Hdf5Bool::no), std::pair("TRUE", Hdf5Bool::yes)}) {
    hdf5().H5Tenum_insert(type, name, &value);
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
  if constexpr (std::is_same_v<T, std::int64_t>) return hdf5().int64;
  if constexpr (std::is_same_v<T, double>) return hdf5().float64;
  if constexpr (std::is_same_v<T, std::uint8_t>) return hdf5().uint8;
  if constexpr (std::is_same_v<T, std::int32_t>) return hdf5().int32;
  if constexpr (std::is_same_v<T, std::uint32_t>) return hdf5().uint32;
}

Hdf5Handle text_type(std::size_t length) {
  Hdf5Handle type(hdf5().H5Tcopy(hdf5().text), hdf5().H5Tclose);
  hdf5().H5Tset_size(type.id(), std::max<std::size_t>(1, length));
  hdf5().H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
  hdf5().H5Tset_cset(type.id(), H5T_CSET_UTF8);
  return type;
}

Hdf5Handle without_dates(hid_t property_class) {
  Hdf5Handle properties(hdf5().H5Pcreate(property_class), hdf5().H5Pclose);
  hdf5().H5Pset_obj_track_times(properties.id(), false);
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
  return alone_in_process ? Turn() : Turn(turn);
}

Hdf5File Hdf5File::create(const std::filesystem::path& path) {
  const Turn turn = take_turn();
  quieten();
  const Hdf5Handle access(hdf5().H5Pcreate(hdf5().file_access), hdf5().H5Pclose);
  hdf5().H5Pset_fapl_core(access.id(), kMemoryStep, false);
  // Closing a file closes all its open objects, so that none outlives an error.
  hdf5().H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG);
  // Small index nodes: most datasets have one chunk.
  const Hdf5Handle creation(hdf5().H5Pcreate(hdf5().file_creation), hdf5().H5Pclose);
  hdf5().H5Pset_istore_k(creation.id(), kIndexRank);
  Hdf5File file(path, take_turn(), Hdf5Handle());
  file.file_ = Hdf5Handle(
      file.checked(hdf5().H5Fcreate(path.c_str(), hdf5().truncate, creation.id(), access.id()), "creating the file"),
      hdf5().H5Fclose);
  return file;
}

Hdf5File::Hdf5File(const std::filesystem::path& path, Turn turn, Hdf5Handle file)
    : path_(path.string()), turn_(std::move(turn)), file_(std::move(file)) {}
Hdf5File::Hdf5File(Hdf5File&&) noexcept = default;
Hdf5File::~Hdf5File() = default;

Hdf5File Hdf5File::open(const std::filesystem::path& path) {
  note_read_file(path);
  const Turn turn = take_turn();  // no other thread uses the library while this process is forked
  hdf5();  // loaded here, as another thread may be loading something while this process is forked
  Hdf5File file(path, Turn(), Hdf5Handle());
  file.reader_ = std::make_unique<ReadingProcess>(file.path_, [&path]() -> ReadingProcess::Answers {
    alone_in_process = true;
    const auto here = std::make_shared<Hdf5File>(open_here(path));
    return [here](const std::string& question) { return here->answer(question); };
  });
  return file;
}

Hdf5File Hdf5File::open_here(const std::filesystem::path& path) {
  const Turn turn = take_turn();
  quieten();
  std::error_code unknown;
  if (std::filesystem::exists(path, unknown) && !std::filesystem::is_regular_file(path, unknown)) {
    fail_internal(path.string() + ": this is no regular file");
  }
  Hdf5File file(path, take_turn(), Hdf5Handle());
  file.file_ = Hdf5Handle(file.checked(hdf5().H5Fopen(path.c_str(), hdf5().read_only, H5P_DEFAULT), "opening the file"),
                          hdf5().H5Fclose);
  return file;
}

void Hdf5File::write_out() {
  checked(hdf5().H5Fflush(file_.id(), H5F_SCOPE_LOCAL), "completing the file");
  const auto size =
      static_cast<std::size_t>(checked(hdf5().H5Fget_file_image(file_.id(), nullptr, 0), "measuring the file"));
  std::vector<char> image(size);
  checked(hdf5().H5Fget_file_image(file_.id(), image.data(), size), "completing the file");
  checked(file_.release_now(), "closing the file");
  std::ofstream out(path_, std::ios::binary | std::ios::trunc);
  out.write(image.data(), static_cast<std::streamsize>(size));
  out.close();
  if (!out) fail_to_write(path_, errno);
}

void Hdf5File::add_group(const std::string& name) {
  const Hdf5Handle properties = without_dates(hdf5().group_creation);
  const Hdf5Handle group(
      checked(hdf5().H5Gcreate2(file_.id(), name.c_str(), H5P_DEFAULT, properties.id(), H5P_DEFAULT), "adding " + name),
      hdf5().H5Gclose);
}

void Hdf5File::write_attribute(const std::string& object, const char* name, Hdf5Handle::Id type, const void* value) {
  const Hdf5Handle space(hdf5().H5Screate(H5S_SCALAR), hdf5().H5Sclose);
  const Hdf5Handle attribute(checked(hdf5().H5Acreate_by_name(file_.id(), object.c_str(), name, type, space.id(),
                                                              H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                                     std::string("adding attribute ") + name),
                             hdf5().H5Aclose);
  checked(hdf5().H5Awrite(attribute.id(), type, value), std::string("writing attribute ") + name);
}

void Hdf5File::write_attribute(const std::string& object, const char* name, double value) {
  write_attribute(object, name, hdf5().float64, &value);
}

void Hdf5File::write_attribute(const std::string& object, const char* name, std::int64_t value) {
  write_attribute(object, name, hdf5().int64, &value);
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
  const Hdf5Handle space(scalar ? hdf5().H5Screate(H5S_SCALAR) : hdf5().H5Screate_simple(1, &count, nullptr),
                         hdf5().H5Sclose);
  const Hdf5Handle properties = without_dates(hdf5().dataset_creation);
  if (count >= kManyTexts) {  // padding is compressed to almost nothing
    hdf5().H5Pset_chunk(properties.id(), 1, &kManyTexts);
    hdf5().H5Pset_deflate(properties.id(), kDeflateLevel);
  }
  const Hdf5Handle dataset(checked(hdf5().H5Dcreate2(file_.id(), name.c_str(), type.id(), space.id(), H5P_DEFAULT,
                                                     properties.id(), H5P_DEFAULT),
                                   "adding " + name),
                           hdf5().H5Dclose);
  if (texts.empty()) return;
  checked(hdf5().H5Dwrite(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data()), "writing " + name);
}

void Hdf5File::write(const std::string& name, std::string_view text) { write_fixed_texts(name, {&text, 1}, true); }

void Hdf5File::write(const std::string& name, std::span<const std::string> texts) {
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  write_fixed_texts(name, views, false);
}

namespace {

// The kinds of questions; in a question for a column the letter of its type follows.
enum Question : char { kHas = 'h', kHasAttribute = 'a', kNumber = 'n', kText = 't', kTexts = 's', kColumn = 'c' };

template <typename T>
std::string bytes_of(const T* values, std::size_t count) {
  std::string out(count * sizeof(T), '\0');
  if (count > 0) std::memcpy(out.data(), values, out.size());
  return out;
}

template <typename T>
std::vector<T> values_of(const std::string& bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

template <typename T>
constexpr char letter_of() {
  if constexpr (std::is_same_v<T, std::uint8_t>) return 'b';
  if constexpr (std::is_same_v<T, std::int32_t>) return 'i';
  if constexpr (std::is_same_v<T, std::uint32_t>) return 'u';
  if constexpr (std::is_same_v<T, std::int64_t>) return 'l';
  if constexpr (std::is_same_v<T, double>) return 'd';
}

// Joins texts, each after its length.
std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) {
    const std::uint64_t size = text.size();
    out += bytes_of(&size, 1) + text;
  }
  return out;
}

std::vector<std::string> parted(const std::string& joined_texts) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < joined_texts.size();) {
    std::uint64_t size = 0;
    if (joined_texts.size() - at < sizeof size) break;
    std::memcpy(&size, joined_texts.data() + at, sizeof size);
    if (size > joined_texts.size() - at - sizeof size) break;
    out.push_back(joined_texts.substr(at + sizeof size, size));
    at += sizeof size + size;
  }
  return out;
}

}  // namespace

std::string Hdf5File::ask(char what, const std::string& object, const std::string& name) const {
  return reader_->ask(what + object + '\0' + name);
}

std::string Hdf5File::answer(const std::string& question) const {
  const std::size_t end = question.find('\0');
  const std::string object = question.substr(1, end - 1);
  const std::string name = question.substr(end + 1);
  const auto column = [&]<typename T>(T) {
    const std::vector<T> values = read_column<T>(object);
    return bytes_of(values.data(), values.size());
  };
  switch (question.front()) {
    case kHas:
      return has(object) ? "y" : "n";
    case kHasAttribute:
      return has_attribute(object, name.c_str()) ? "y" : "n";
    case kNumber: {
      const double value = read_number(object, name.c_str());
      return bytes_of(&value, 1);
    }
    case kText:
      return read_text(object, name.c_str());
    case kTexts:
      return joined(read_fixed_texts(object));
    case kColumn:
      switch (name.front()) {
        case letter_of<std::uint8_t>():
          return column(std::uint8_t{});
        case letter_of<std::int32_t>():
          return column(std::int32_t{});
        case letter_of<std::uint32_t>():
          return column(std::uint32_t{});
        case letter_of<std::int64_t>():
          return column(std::int64_t{});
        default:
          return column(double{});
      }
    default:
      fail_internal(path_ + ": a question that nobody answers");
  }
}

// Refuses implausible sizes: a few bytes can claim any number of values, but deflate packs at most 1,032 bytes into
// one.
void Hdf5File::require_plausible(std::size_t bytes, const std::string& name) const {
  constexpr std::uintmax_t kMostOfByte = 1100;
  constexpr std::uintmax_t kAlways = std::uintmax_t{1} << 24;
  std::error_code unknown;  // set for a file under construction, which has no bytes yet
  const std::uintmax_t size = std::filesystem::file_size(path_, unknown);
  if (!unknown && bytes / kMostOfByte > size + kAlways / kMostOfByte) {
    fail_internal(fmt::format("{}: {} claims to hold {} bytes, more than the file can", path_, name, bytes));
  }
}

bool Hdf5File::has(const std::string& name) const {
  if (reader_) return ask(kHas, name) == "y";
  return hdf5().H5Lexists(file_.id(), name.c_str(), H5P_DEFAULT) > 0;
}

bool Hdf5File::has_attribute(const std::string& object, const char* name) const {
  if (reader_) return ask(kHasAttribute, object, name) == "y";
  return checked(hdf5().H5Aexists_by_name(file_.id(), object.c_str(), name, H5P_DEFAULT),
                 std::string("finding attribute ") + name) > 0;
}

double Hdf5File::read_number(const std::string& object, const char* name) const {
  if (reader_) return values_of<double>(ask(kNumber, object, name)).at(0);
  const Hdf5Handle attribute(checked(hdf5().H5Aopen_by_name(file_.id(), object.c_str(), name, H5P_DEFAULT, H5P_DEFAULT),
                                     std::string("opening attribute ") + name),
                             hdf5().H5Aclose);
  const Hdf5Handle space(checked(hdf5().H5Aget_space(attribute.id()), "its size"), hdf5().H5Sclose);
  if (hdf5().H5Sget_simple_extent_npoints(space.id()) != 1) {
    fail_internal(fmt::format("{}: attribute {} is no single number", path_, name));
  }
  double value = 0;
  checked(hdf5().H5Aread(attribute.id(), hdf5().float64, &value), std::string("reading attribute ") + name);
  return value;
}

std::string Hdf5File::read_text(const std::string& object, const char* name) const {
  if (reader_) return ask(kText, object, name);
  const Hdf5Handle attribute(checked(hdf5().H5Aopen_by_name(file_.id(), object.c_str(), name, H5P_DEFAULT, H5P_DEFAULT),
                                     std::string("opening attribute ") + name),
                             hdf5().H5Aclose);
  const Hdf5Handle type(checked(hdf5().H5Aget_type(attribute.id()), "its type"), hdf5().H5Tclose);
  const bool alone = hdf5().H5Tget_class(type.id()) == H5T_STRING && hdf5().H5Tis_variable_str(type.id()) <= 0;
  const Hdf5Handle space(checked(hdf5().H5Aget_space(attribute.id()), "its size"), hdf5().H5Sclose);
  if (!alone || hdf5().H5Sget_simple_extent_npoints(space.id()) != 1) {
    fail_internal(fmt::format("{}: attribute {} is no text of fixed length", path_, name));
  }
  require_plausible(hdf5().H5Tget_size(type.id()), name);
  std::string text(hdf5().H5Tget_size(type.id()), '\0');
  checked(hdf5().H5Aread(attribute.id(), type.id(), text.data()), std::string("reading attribute ") + name);
  return trimmed(text.data(), text.size());
}

std::vector<std::string> Hdf5File::read_fixed_texts(const std::string& name) const {
  if (reader_) return parted(ask(kTexts, name));
  const Hdf5Handle dataset(checked(hdf5().H5Dopen2(file_.id(), name.c_str(), H5P_DEFAULT), "opening " + name),
                           hdf5().H5Dclose);
  const Hdf5Handle type(checked(hdf5().H5Dget_type(dataset.id()), "its type"), hdf5().H5Tclose);
  const Hdf5Handle space(checked(hdf5().H5Dget_space(dataset.id()), "its size"), hdf5().H5Sclose);
  if (hdf5().H5Tget_class(type.id()) != H5T_STRING || hdf5().H5Tis_variable_str(type.id()) > 0) {
    fail_internal(fmt::format("{}: {} holds no texts of fixed length", path_, name));
  }
  const std::size_t length = hdf5().H5Tget_size(type.id());
  const auto count = static_cast<std::size_t>(hdf5().H5Sget_simple_extent_npoints(space.id()));
  if (count > 0 && length > std::string().max_size() / count) fail_internal(path_ + ": " + name + " is too large");
  require_plausible(length * count, name);
  std::string padded(length * count, '\0');
  if (count > 0) {
    checked(hdf5().H5Dread(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data()), "reading " + name);
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) texts.push_back(trimmed(padded.data() + i * length, length));
  return texts;
}

std::string Hdf5File::read_text(const std::string& name) const {
  std::vector<std::string> texts = read_fixed_texts(name);
  if (texts.size() != 1) fail_internal(fmt::format("{}: {} holds {} texts, not one", path_, name, texts.size()));
  return std::move(texts.front());
}

std::vector<std::string> Hdf5File::read_texts(const std::string& name) const { return read_fixed_texts(name); }

template <typename T>
std::vector<T> Hdf5File::read_column(const std::string& name) const {
  if (reader_) return values_of<T>(ask(kColumn, name, std::string(1, letter_of<T>())));
  const Hdf5Handle dataset(checked(hdf5().H5Dopen2(file_.id(), name.c_str(), H5P_DEFAULT), "opening " + name),
                           hdf5().H5Dclose);
  const Hdf5Handle space(checked(hdf5().H5Dget_space(dataset.id()), "its size"), hdf5().H5Sclose);
  const auto count =
      static_cast<std::size_t>(checked(hdf5().H5Sget_simple_extent_npoints(space.id()), "measuring " + name));
  if (count > std::vector<T>().max_size()) fail_internal(path_ + ": " + name + " is too large");
  require_plausible(count * sizeof(T), name);
  std::vector<T> values(count);
  checked(hdf5().H5Dread(dataset.id(), type_of<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "reading " + name);
  return values;
}

// Chunks are as long as the first values that are written: each one is padded to its length and then compressed, which
// for the short columns of a small trace would take most of the time of writing it.
template <typename T>
void Hdf5Column<T>::add_dataset() {
  const hsize_t none = 0;
  const hsize_t unlimited = H5S_UNLIMITED;
  const hsize_t chunk = std::max<std::size_t>(1, buffer_.size());
  const Hdf5Handle space(hdf5().H5Screate_simple(1, &none, &unlimited), hdf5().H5Sclose);
  const Hdf5Handle properties = without_dates(hdf5().dataset_creation);
  hdf5().H5Pset_chunk(properties.id(), 1, &chunk);
  hdf5().H5Pset_shuffle(properties.id());
  hdf5().H5Pset_deflate(properties.id(), kDeflateLevel);
  dataset_ = Hdf5Handle(file_.checked(hdf5().H5Dcreate2(file_.file_.id(), name_.c_str(), type_of<T>(), space.id(),
                                                        H5P_DEFAULT, properties.id(), H5P_DEFAULT),
                                      "adding " + name_),
                        hdf5().H5Dclose);
}

template <typename T>
void Hdf5Column<T>::flush() {
  if (dataset_.id() < 0) add_dataset();
  if (buffer_.empty()) return;
  const hsize_t begin = written_;
  const hsize_t count = buffer_.size();
  const hsize_t size = begin + count;
  file_.checked(hdf5().H5Dset_extent(dataset_.id(), &size), "extending " + name_);
  const Hdf5Handle all(hdf5().H5Dget_space(dataset_.id()), hdf5().H5Sclose);
  hdf5().H5Sselect_hyperslab(all.id(), H5S_SELECT_SET, &begin, nullptr, &count, nullptr);
  const Hdf5Handle part(hdf5().H5Screate_simple(1, &count, nullptr), hdf5().H5Sclose);
  file_.checked(hdf5().H5Dwrite(dataset_.id(), type_of<T>(), part.id(), all.id(), H5P_DEFAULT, buffer_.data()),
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

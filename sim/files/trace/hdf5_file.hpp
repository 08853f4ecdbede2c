#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

class ReadingProcess;

// An identifier of the HDF5 library, released when its handle is destroyed. Empty after a move.
class Hdf5Handle {
 public:
  using Id = std::int64_t;
  using Release = int (*)(Id);

  Hdf5Handle() = default;
  Hdf5Handle(Id id, Release release) : id_(id), release_(release) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept { swap(other); }
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Hdf5Handle() {
    if (release_ != nullptr) release_(id_);
  }

  Id id() const { return id_; }
  int release_now();  // returns the library's result: negative on failure

 private:
  void swap(Hdf5Handle& other) {
    std::swap(id_, other.id_);
    std::swap(release_, other.release_);
  }

  Id id_ = -1;
  Release release_ = nullptr;
};

// The boolean of h5py and NumPy: an enumeration of FALSE and TRUE.
enum class Hdf5Bool : std::int8_t { no, yes };

// One HDF5 file. All failures are Error(internal) with the file's name and HDF5's reason; the library prints nothing.
// Names of groups and datasets are paths ("/tasks/start_s") whose groups exist. The file's bytes depend only on its
// content: they hold no dates. The library has global state and serves one thread at a time: while a thread has a file,
// other threads wait for theirs. A thread may have several files. The library trusts the bytes of a file, and a damaged
// file can end the process: a child process reads a file that is opened.
class Hdf5File {
 public:
  static Hdf5File create(const std::filesystem::path& path);  // in memory, until write_out()
  static Hdf5File open(const std::filesystem::path& path);    // for reading; Error(input) if it is damaged
  Hdf5File(Hdf5File&&) noexcept;
  ~Hdf5File();
  void write_out();  // writes a created file to its path, replacing an existing one; no use after it

  void add_group(const std::string& name);
  void write_attribute(const std::string& object, const char* name, double value);
  void write_attribute(const std::string& object, const char* name, std::int64_t value);
  void write_attribute(const std::string& object, const char* name, std::string_view text);
  void write(const std::string& name, std::string_view text);               // a scalar
  void write(const std::string& name, std::span<const std::string> texts);  // one dimension

  bool has(const std::string& name) const;
  bool has_attribute(const std::string& object, const char* name) const;
  double read_number(const std::string& object, const char* name) const;
  std::string read_text(const std::string& object, const char* name) const;
  std::string read_text(const std::string& name) const;
  std::vector<std::string> read_texts(const std::string& name) const;
  // Returns a column's values. T: double, or an integer type of a column; values of another numeric type are converted.
  template <typename T>
  std::vector<T> read_column(const std::string& name) const;

 private:
  template <typename T>
  friend class Hdf5Column;
  using Turn = std::unique_lock<std::recursive_mutex>;
  static Turn take_turn();
  Hdf5File(const std::filesystem::path& path, Turn turn, Hdf5Handle file);
  static Hdf5File open_here(const std::filesystem::path& path);  // in this process
  // Parent and child process exchange questions and answers (see hdf5_file.cpp).
  std::string answer(const std::string& question) const;
  std::string ask(char what, const std::string& object, const std::string& name = {}) const;
  void require_plausible(std::size_t bytes, const std::string& name) const;
  Hdf5Handle::Id checked(Hdf5Handle::Id result, const std::string& what) const;
  void write_attribute(const std::string& object, const char* name, Hdf5Handle::Id type, const void* value);
  void write_fixed_texts(const std::string& name, std::span<const std::string_view> texts, bool scalar);
  std::vector<std::string> read_fixed_texts(const std::string& name) const;

  std::string path_;
  Turn turn_;  // declared first, so that it outlives file_
  Hdf5Handle file_;
  std::unique_ptr<ReadingProcess> reader_;  // for a file that is opened: the child process that has it open
};

// A one-dimensional dataset that grows, chunked and compressed. T: Hdf5Bool, uint8_t, int32_t, uint32_t, int64_t or
// double.
// The file must outlive the column; finish() writes the values that were appended since the last full chunk. The
// dataset is in the file once it has a full chunk or is finished.
template <typename T>
class Hdf5Column {
 public:
  Hdf5Column(Hdf5File& file, std::string name) : file_(file), name_(std::move(name)) {}

  void append(T value) {
    buffer_.push_back(value);
    if (buffer_.size() == kChunk) flush();
  }
  void finish() { flush(); }

  static constexpr std::size_t kChunk = 65536;  // values; fewer in a column that has fewer

 private:
  void add_dataset();
  void flush();

  Hdf5File& file_;
  std::string name_;
  Hdf5Handle dataset_;
  std::vector<T> buffer_;
  std::uint64_t written_ = 0;
};

// Writes the file's origin (base/origin.hpp) as attributes of its root: "program_version" and, if models or hardware
// were read, "data_hash".
void write_origin(Hdf5File& file);

}  // namespace mirfak

#include "trace/hdf5_file.hpp"

#include "base/error.hpp"
#include "support/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

using namespace mirfak;

TEST_CASE("what is written is read back: numbers, texts, columns longer than a chunk") {
  const ScratchFolder folder;
  const auto path = folder / "file.h5";
  constexpr std::size_t count = 2 * Hdf5Column<double>::kChunk + 17;
  const std::vector<std::string> names = {"one", "", "three \xc3\xa9"};
  {
    Hdf5File file = Hdf5File::create(path);
    file.add_group("/group");
    file.write_attribute("/", "number", 0.1);
    file.write_attribute("/group", "count", std::int64_t{7});
    file.write_attribute("/group", "text", std::string_view("some text"));
    file.write_attribute("/group", "empty", std::string_view());
    file.write("/text", std::string_view("line\nline\n"));
    file.write("/names", names);
    Hdf5Column<double> squares(file, "/group/squares");
    Hdf5Column<std::uint8_t> bytes(file, "/group/bytes");
    for (std::size_t i = 0; i < count; ++i) {
      squares.append(static_cast<double>(i) * static_cast<double>(i));
      bytes.append(static_cast<std::uint8_t>(i % 251));
    }
    squares.finish();
    bytes.finish();
    Hdf5Column<std::int32_t> nothing(file, "/group/nothing");
    nothing.finish();
    file.write_out();
  }
  const Hdf5File file = Hdf5File::open(path);
  CHECK(file.read_number("/", "number") == 0.1);
  CHECK(file.read_number("/group", "count") == 7);
  CHECK(file.read_text("/group", "text") == "some text");
  CHECK(file.read_text("/group", "empty").empty());
  CHECK(file.read_text("/text") == "line\nline\n");
  CHECK(file.read_texts("/names") == names);
  CHECK(file.has("/group/squares"));
  CHECK_FALSE(file.has("/absent"));
  const auto squares = file.read_column<double>("/group/squares");
  const auto bytes = file.read_column<std::int32_t>("/group/bytes");
  REQUIRE(squares.size() == count);
  REQUIRE(bytes.size() == count);
  for (std::size_t i = 0; i < count; i += 997) {
    CHECK(squares[i] == static_cast<double>(i) * static_cast<double>(i));
    CHECK(bytes[i] == static_cast<std::int32_t>(i % 251));
  }
  CHECK(file.read_column<std::int32_t>("/group/nothing").empty());
}

TEST_CASE("failures are errors that name the file and the reason") {
  const ScratchFolder folder;
  const auto fails_with = [](const std::string& expected, auto action, ErrorKind kind = ErrorKind::internal) {
    try {
      action();
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == kind);
      CAPTURE(error.message());
      CHECK(error.message().find(expected) != std::string::npos);
    }
  };
  fails_with("absent.h5", [&] { Hdf5File::open(folder / "absent.h5"); });
  std::ofstream(folder / "text.h5") << "no HDF5 file";
  fails_with("text.h5", [&] { Hdf5File::open(folder / "text.h5"); });
  fails_with(
      "there is no folder", [&] { Hdf5File::create(folder.path() / "no-folder" / "file.h5").write_out(); },
      ErrorKind::input);
  Hdf5File file = Hdf5File::create(folder / "file.h5");
  fails_with("/no/such/group", [&] { file.write("/no/such/group/text", std::string_view("text")); });
  fails_with("/absent", [&] { file.read_column<double>("/absent"); });
}

TEST_CASE("a damaged file is read as something or refused: the process that reads it may break, this one goes on") {
  const ScratchFolder folder;
  const auto path = folder / "file.h5";
  {
    Hdf5File file = Hdf5File::create(path);
    file.add_group("/group");
    file.write_attribute("/", "filetype", std::string_view("some file"));
    file.write_attribute("/group", "number", 0.5);
    file.write("/names", std::vector<std::string>{"one", "two"});
    Hdf5Column<double> column(file, "/group/column");
    for (int i = 0; i < 2000; ++i) column.append(i);
    column.finish();
    file.write_out();
  }
  std::ifstream in(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  std::mt19937 random(11);
  int refused = 0;
  for (int round = 0; round < 60; ++round) {
    std::string damaged = whole;
    if (round % 4 == 0) damaged.resize(random() % whole.size());
    const std::size_t first = damaged.empty() ? 0 : random() % damaged.size();
    for (std::size_t i = first; i < std::min(damaged.size(), first + 1 + random() % 64); ++i) {
      damaged[i] = static_cast<char>(random());
    }
    std::ofstream(folder / "damaged.h5", std::ios::binary | std::ios::trunc) << damaged;
    try {
      const Hdf5File file = Hdf5File::open(folder / "damaged.h5");
      static_cast<void>(file.has("/group"));
      static_cast<void>(file.read_text("/", "filetype"));
      static_cast<void>(file.read_number("/group", "number"));
      static_cast<void>(file.read_texts("/names"));
      static_cast<void>(file.read_column<double>("/group/column"));
      static_cast<void>(file.read_column<std::uint32_t>("/group/column"));
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("a column that claims more than its file can hold is refused before room for it is made") {
  const ScratchFolder folder;
  {
    Hdf5File file = Hdf5File::create(folder / "file.h5");
    Hdf5Column<std::uint8_t> column(file, "/column");
    column.append(1);
    column.finish();
    file.write_out();
  }
  // The length of the column, and the most that it may ever be, as the file states them.
  std::fstream file(folder / "file.h5", std::ios::binary | std::ios::in | std::ios::out);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::string one = std::string("\x01") + std::string(7, '\0') + std::string(8, '\xff');
  const std::size_t at = bytes.find(one);
  REQUIRE(at != std::string::npos);
  file.clear();
  file.seekp(static_cast<std::streamoff>(at));
  file.write("\0\0\0\0\0\x10\0\0", 8);  // 2^44
  file.close();
  CHECK_THROWS_AS(Hdf5File::open(folder / "file.h5").read_column<std::uint8_t>("/column"), Error);
}

TEST_CASE("a folder is no HDF5 file") {
  const ScratchFolder folder;
  CHECK_THROWS_AS(Hdf5File::open(folder.path()), Error);
}

#include "trace/hdf5_file.hpp"

#include "base/error.hpp"
#include "support/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <fstream>

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

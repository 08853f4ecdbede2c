#include "base/input_file.hpp"

#include "failure.hpp"
#include "support/scratch_folder.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include <sys/stat.h>
#include <cstdio>
#include <fstream>
#include <memory>
#include <thread>

using namespace mirfak;

namespace input_file_test {

constexpr InputKind kSmall = {"a small file", kMebibyte};
constexpr InputKind kSmallPacked = {"a small file", kMebibyte, true};

TEST_CASE("a file is read whole up to what its kind may have, and no further") {
  const ScratchFolder folder;
  const std::string most(kMebibyte, 'a');
  std::ofstream(folder / "most", std::ios::binary) << most;
  std::ofstream(folder / "more", std::ios::binary) << most << 'a';
  for (const InputKind& kind : {kSmall, kSmallPacked}) {
    CHECK(read_input_file(folder / "most", kind) == most);
    CHECK(contains(failure_of([&] { read_input_file(folder / "more", kind); }), "a small file is larger than 1 MiB"));
    // Devices have no end, and a sparse file no contents.
    CHECK(contains(failure_of([&] { read_input_file("/dev/zero", kind); }), "larger than 1 MiB"));
    std::ofstream(folder / "sparse").close();
    std::filesystem::resize_file(folder / "sparse", std::uintmax_t{1} << 40);
    CHECK(contains(failure_of([&] { read_input_file(folder / "sparse", kind); }), "larger than 1 MiB"));
  }
}

TEST_CASE("of a compressed file the bytes that it unpacks to count") {
  const ScratchFolder folder;
  const std::string path = (folder / "bomb.gz").string();
  {
    const std::unique_ptr<gzFile_s, int (*)(gzFile)> out(gzopen(path.c_str(), "wb9"), gzclose);
    const std::string block(kMebibyte, '0');
    for (int i = 0; i < 64; ++i) gzwrite(out.get(), block.data(), static_cast<unsigned>(block.size()));
  }
  CHECK(std::filesystem::file_size(path) < kMebibyte);
  CHECK(contains(failure_of([&] { read_input_file(path, kSmallPacked); }), "larger than 1 MiB"));
  CHECK(read_input_file(path, kSmall).size() == std::filesystem::file_size(path));  // as its bytes are
}

TEST_CASE("a pipe is a file; a folder and what is not there are none") {
  const ScratchFolder folder;
  const std::string pipe = (folder / "pipe").string();
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer([&] { std::ofstream(pipe) << "through a pipe"; });
  CHECK(read_input_file(pipe, kSmall) == "through a pipe");
  writer.join();
  CHECK(contains(failure_of([&] { read_input_file(folder.path(), kSmall); }), "this is a folder, expected a file"));
  CHECK(contains(failure_of([&] { read_input_file(folder / "absent", kSmall); }), "there is no such file"));
  // The error stands at the place that names the file.
  const std::string named = failure_of([&] { read_input_file(folder / "absent", kSmall, {"s.yaml", 3, 7}); });
  CHECK(named.starts_with("s.yaml:3:7: "));
  CHECK(contains(named, "absent"));
}

}  // namespace input_file_test

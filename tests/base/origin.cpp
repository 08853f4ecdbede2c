#include "base/origin.hpp"

#include "base/read_files.hpp"
#include "support/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <fstream>

namespace origin_test {

using namespace mirfak;

namespace {

void write(const std::filesystem::path& file, const std::string& text) { std::ofstream(file) << text; }

}  // namespace

TEST_CASE("a hash of data says whether any file, its name or its folder differs, wherever they lie") {
  const ScratchFolder one;
  const ScratchFolder other;
  for (const ScratchFolder* folder : {&one, &other}) {
    std::filesystem::create_directory(*folder / "models");
    write(*folder / "models/a.yaml", "a: 1\n");
    write(*folder / "models/b.yaml", "b: 2\n");
    write(*folder / "models/README.md", "none of the data\n");
  }
  const std::string hash = data_hash({one / "models"});
  CHECK(hash.size() == 16);
  CHECK(data_hash({other / "models"}) == hash);
  CHECK(data_hash({other / "models", one / "models"}) != hash);
  write(other / "models/README.md", "otherwise\n");
  CHECK(data_hash({other / "models"}) == hash);
  write(other / "models/b.yaml", "b: 3\n");
  CHECK(data_hash({other / "models"}) != hash);
  write(other / "models/b.yaml", "b: 2\n");
  std::filesystem::rename(other / "models/b.yaml", other / "models/c.yaml");
  CHECK(data_hash({other / "models"}) != hash);
}

TEST_CASE("an output names the data that its command reads, and none where it reads none") {
  const ScratchFolder folder;
  write(folder / "a.yaml", "a: 1\n");
  const std::string program = "mirfak " + std::string(program_version());
  CHECK(origin_text() == program);
  {
    const NotedDataFolders command;
    CHECK(origin().data_hash.empty());
    note_data_folders({folder.path()});
    CHECK(origin().data_hash == data_hash({folder.path()}));
    CHECK(origin_comment() == "# " + program + ", data " + data_hash({folder.path()}) + "\n");
  }
  CHECK(origin_text() == program);
}

}  // namespace origin_test

#include "base/staged_file.hpp"

#include "base/error.hpp"
#include "support/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <fstream>

using namespace mirfak;

namespace {

void write(const std::filesystem::path& path, const char* text) { std::ofstream(path) << text; }

}  // namespace

TEST_CASE("a staged file takes its name when committed, and leaves nothing otherwise") {
  const ScratchFolder folder;
  const auto target = folder / "file";
  {
    StagedFile staged(target);
    write(staged.path(), "half");
    CHECK_FALSE(std::filesystem::exists(target));
  }
  CHECK(folder.files().empty());

  write(target, "old");
  {
    StagedFile staged(target);
    write(staged.path(), "new");
    CHECK(read_text_file(target) == "old");
    staged.commit();
  }
  CHECK(read_text_file(target) == "new");
  CHECK(folder.files() == std::vector<std::string>{"file"});
}

TEST_CASE("two writers of one file do not meet") {
  const ScratchFolder folder;
  const StagedFile one(folder / "file");
  const StagedFile two(folder / "file");
  CHECK(one.path() != two.path());
}

TEST_CASE("a link stays a link and its file is replaced") {
  const ScratchFolder folder;
  write(folder / "file", "old");
  std::filesystem::create_symlink(folder / "file", folder / "link");
  StagedFile staged(folder / "link");
  write(staged.path(), "new");
  staged.commit();
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(read_text_file(folder / "file") == "new");
}

TEST_CASE("targets that cannot be files are refused") {
  const ScratchFolder folder;
  write(folder / "file", "");
  for (const auto& target : {folder.path() / "absent" / "file", folder.path(), folder.path() / "file" / "below",
                             std::filesystem::path("/dev/null")}) {
    CAPTURE(target.string());
    try {
      const StagedFile staged(target);
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
      CHECK(error.where().file == target.string());
    }
  }
}

TEST_CASE("a commit without a file is an error") {
  const ScratchFolder folder;
  StagedFile staged(folder / "file");
  CHECK_THROWS_AS(staged.commit(), Error);
}

#include "base/staged_file.hpp"

#include "base/error.hpp"
#include "base/read_files.hpp"
#include "support/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
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

TEST_CASE("links that lead round in a circle are no place for a file, and stay") {
  const ScratchFolder folder;
  std::filesystem::create_symlink("other", folder / "circle");
  std::filesystem::create_symlink("circle", folder / "other");
  CHECK_THROWS_WITH_AS(write_text_file(folder / "circle", "text"), doctest::Contains("round in a circle"), Error);
  CHECK_THROWS_WITH_AS(write_text_file(folder / "circle" / "file", "text"), doctest::Contains("cannot be reached"),
                       Error);
  CHECK(folder.files() == std::vector<std::string>{"circle", "other"});
  CHECK(std::filesystem::is_symlink(folder / "circle"));
}

TEST_CASE("every name that the system takes can be written") {
  const ScratchFolder folder;
  for (const std::size_t length : {std::size_t{200}, std::size_t{245}, std::size_t{255}}) {
    const std::string name(length, 'x');
    const StagedFile other(folder.path() / name);
    write_text_file(folder.path() / name, "text");
    CHECK(read_text_file(folder.path() / name) == "text");
    CHECK(is_staged_for(folder.path() / name, other.path().filename().string()));
    std::filesystem::remove(folder.path() / name);
  }
  CHECK_THROWS_WITH_AS(write_text_file(folder.path() / std::string(256, 'x'), "text"),
                       doctest::Contains("longer than the system takes"), Error);
  CHECK(folder.files().empty());
}

TEST_CASE("files that belong together get their names when all are there, or none does") {
  const ScratchFolder folder;
  StagedFile one(folder / "one");
  StagedFile two(folder / "two");
  one.write("1");
  CHECK_THROWS_AS(commit_all(std::array{&one, &two}), Error);
  CHECK_FALSE(std::filesystem::exists(folder / "one"));
  two.write("2");
  commit_all(std::array{&one, &two});
  CHECK(folder.files() == std::vector<std::string>{"one", "two"});
}

TEST_CASE("a commit without a file is an error") {
  const ScratchFolder folder;
  StagedFile staged(folder / "file");
  CHECK_THROWS_AS(staged.commit(), Error);
}

TEST_CASE("one file by several paths, there or not") {
  const ScratchFolder folder;
  const std::filesystem::path& at = folder.path();
  write(at / "file", "text");
  std::filesystem::create_directory(at / "sub");
  std::filesystem::create_hard_link(at / "file", at / "hard");
  std::filesystem::create_symlink("file", at / "soft");
  std::filesystem::create_symlink("new", at / "dangling");
  std::filesystem::create_symlink("circle", at / "circle");
  for (const auto& other : {at / "file", at / "sub/../file", at / "hard", at / "soft"}) {
    CHECK(is_same_file(at / "file", other));
  }
  CHECK(is_same_file(at / "new", at / "sub" / ".." / "new"));
  CHECK(is_same_file(at / "new", at / "dangling"));
  CHECK_FALSE(is_same_file(at / "file", at / "new"));
  CHECK_FALSE(is_same_file(at / "new", at / "sub" / "new"));
  CHECK_FALSE(is_same_file(at / "circle", at / "file"));
}

TEST_CASE("a trial of writing leaves nothing, and what is there as it is") {
  const ScratchFolder folder;
  write(folder / "old", "text");
  check_writable(folder / "old");
  check_writable(folder / "new");
  CHECK(read_text_file(folder / "old") == "text");
  CHECK(folder.files() == std::vector<std::string>{"old"});
}

TEST_CASE("a file that was read is replaced by its own new text only") {
  const ScratchFolder folder;
  write(folder / "file", "text");
  std::filesystem::create_hard_link(folder / "file", folder / "hard");
  {
    const ReadFiles reading;
    CHECK_FALSE(was_read(folder / "file"));
    note_read_file(folder / "file");
    CHECK(was_read(folder / "hard"));
    CHECK_THROWS_WITH_AS(write_text_file(folder / "hard", ""), doctest::Contains("was read as an input"), Error);
    CHECK_NOTHROW(StagedFile(folder / "hard", StagedFile::Replaces::what_it_read));
  }
  CHECK_FALSE(was_read(folder / "file"));
  write_text_file(folder / "file", "other");
  CHECK(read_text_file(folder / "hard") == "text");
}

TEST_CASE("what cannot be written is a fault of the machine where it is full, else of the place") {
  const auto failure = [](int reason) {
    try {
      fail_to_write("sub/file.partial-12-0", reason);
    } catch (const Error& error) {
      CHECK(error.where().file == "sub/file");
      return error;
    }
  };
  CHECK(failure(ENOSPC).kind() == ErrorKind::internal);
  CHECK(failure(ENOSPC).message() == "cannot be written: no space left in the folder 'sub'");
  CHECK(failure(EFBIG).kind() == ErrorKind::internal);
  CHECK(failure(EACCES).kind() == ErrorKind::input);
  CHECK(failure(EACCES).message() == "cannot be written: no permission to write in the folder 'sub'");
  CHECK(failure(EROFS).message() == "cannot be written: the folder 'sub' is on a read-only file system");
}

TEST_CASE("lists of read files that note each other are given back") {
  const ScratchFolder folder;
  write_text_file(folder / "model", "text");
  std::weak_ptr<const ReadFiles::List> first;
  std::weak_ptr<const ReadFiles::List> second;
  {
    const ReadFiles one;
    const ReadFiles other;
    CHECK(read_text_file(folder / "model") == "text");
    note_read_files(one.list());
    note_read_files(other.list());
    first = one.list();
    second = other.list();
  }
  CHECK(first.expired());
  CHECK(second.expired());
}

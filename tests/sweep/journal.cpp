#include "sweep/journal.hpp"

#include "base/error.hpp"
#include "fixture.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace {

std::vector<std::string> records_of(const std::filesystem::path& path, std::string_view header = "header") {
  std::vector<std::string> records;
  const Journal journal(
      path, header, [](std::string_view found) { fail_input({}, std::string(found)); },
      [&](std::string_view record) { records.emplace_back(record); });
  return records;
}

}  // namespace

TEST_CASE("a journal cut anywhere gives back its whole records, and goes on behind them") {
  const Folder folder;
  const auto path = folder / "journal";
  const std::vector<std::string> written = {"first", "", std::string(300, 'x')};
  {
    Journal journal(
        path, "header", [](std::string_view) {}, [](std::string_view) {});
    for (const std::string& record : written) journal.append(record);
  }
  const std::string whole = bytes_of(path);
  std::size_t most = 0;
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    std::ofstream(path, std::ios::binary | std::ios::trunc).write(whole.data(), static_cast<std::streamsize>(cut));
    std::vector<std::string> found = records_of(path);
    CHECK(found.size() >= most);
    most = found.size();
    CHECK(std::equal(found.begin(), found.end(), written.begin()));
    {
      Journal journal(
          path, "header", [](std::string_view) {}, [](std::string_view) {});
      journal.append("after");
    }
    found.emplace_back("after");
    CHECK(records_of(path) == found);
  }
  CHECK(most == written.size());
}

TEST_CASE("a byte that changed ends the journal before it") {
  const Folder folder;
  const auto path = folder / "journal";
  {
    Journal journal(
        path, "header", [](std::string_view) {}, [](std::string_view) {});
    for (const char* record : {"one", "two", "three"}) journal.append(record);
  }
  std::string bytes = bytes_of(path);
  bytes[bytes.find("two")] = 'T';
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  CHECK(records_of(path) == std::vector<std::string>{"one"});
}

TEST_CASE("a journal of something else, or of a run that goes on, is refused") {
  const Folder folder;
  const auto path = folder / "journal";
  Journal journal(
      path, "header", [](std::string_view) {}, [](std::string_view) {});
  CHECK_THROWS_WITH_AS(records_of(path), doctest::Contains("is running now"), Error);
  Journal other(
      folder / "other", "theirs", [](std::string_view) {}, [](std::string_view) {});
  other.append("x");
}

TEST_CASE("a file that is no journal is refused and stays, and one that was never begun is taken") {
  const Folder folder;
  const auto path = folder / "journal";
  const std::string zeros(64, '\0');
  const std::string begun = {char{6}, 0, 0, 0, 0, 0, 0, 0, 'c', 'r', 'c', '.', 'f', 'r', 'i', 'm', 'h', 'e', 'a'};
  for (const std::string& text : {std::string("notes"), std::string(5000, 'x'), zeros + "notes", begun + "d\nnotes"}) {
    std::ofstream(path, std::ios::binary) << text;
    CHECK_THROWS_WITH_AS(records_of(path), doctest::Contains("is something else"), Error);
    CHECK(bytes_of(path) == text);
  }
  for (const std::string& text : {std::string(), zeros, begun}) {
    std::ofstream(path, std::ios::binary) << text;
    CHECK(records_of(path).empty());
  }
}

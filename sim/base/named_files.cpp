#include "base/named_files.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

namespace mirfak {

namespace fs = std::filesystem;

namespace {

struct NamedFilesRule {
  std::string document;
  std::vector<fs::path> folders;  // with links resolved
};

thread_local std::unique_ptr<const NamedFilesRule> rule_of_thread;

bool lies_in(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

bool may_name_files(const Location& asked_at) { return !rule_of_thread || asked_at.file != rule_of_thread->document; }

std::string refusal_of(std::string_view name) {
  return fmt::format("'{}' would be a file, and files are not read here", excerpt(name));
}
constexpr const char* kHint = "use a name of the catalogue, or write what the file says in its place";

}  // namespace

NoNamedFiles::NoNamedFiles(std::string document, const std::vector<fs::path>& folders) {
  auto rule = std::make_unique<NamedFilesRule>();
  rule->document = std::move(document);
  for (const fs::path& folder : folders) rule->folders.push_back(fs::canonical(folder));
  rule_of_thread = std::move(rule);
}

NoNamedFiles::~NoNamedFiles() { rule_of_thread.reset(); }

void refuse_named_file(const Location& asked_at, std::string_view name) {
  if (!may_name_files(asked_at)) fail_input(asked_at, refusal_of(name), kHint);
}

void refuse_named_file(const Node& name) {
  if (!may_name_files(name.where())) name.fail(refusal_of(name.value().scalar), kHint);
}

bool may_read_file(const fs::path& path) {
  if (!rule_of_thread) return true;
  std::error_code failed;
  const fs::path file = fs::weakly_canonical(path, failed);
  const std::vector<fs::path>& folders = rule_of_thread->folders;
  return !failed &&
         std::any_of(folders.begin(), folders.end(), [&](const fs::path& folder) { return lies_in(file, folder); });
}

void refuse_file_outside(const fs::path& path) {
  if (!may_read_file(path)) fail_input({}, refusal_of(path.filename().string()), kHint);
}

}  // namespace mirfak

#include "launch/option_list.hpp"

#include "base/error.hpp"
#include "base/remembered.hpp"

#include <algorithm>
#include <utility>

namespace mirfak {

OptionList::OptionList(const std::filesystem::path& hardware, std::string_view name) {
  const std::filesystem::path path = hardware / "launch" / "options" / fmt::format("{}.yaml", name);
  const Document document = Document::from_file(path);
  file_ = path.filename().string();
  Mapping root((Node(document)));
  const std::string project = root.require("project").as_string();
  const std::string release = root.require("release").as_string();
  title_ = fmt::format("{} {}: {}", project, release, root.require("what").as_string());
  root.ignore("files");
  if (const auto also = root.find("also")) {
    const OptionList other(hardware, also->as_string());
    for (const OptionEntry& entry : other.entries()) {
      OptionEntry field = {entry.name.substr(entry.name.find_first_not_of('-')), entry.takes};
      field.written = entry.written;
      std::replace(field.name.begin(), field.name.end(), '-', '_');
      add(std::move(field));
    }
  }
  const std::optional<Node> like = root.find("like");
  const OptionList meanings = like ? OptionList(hardware, like->as_string()) : OptionList();
  const Node options = root.require("options");
  if (!options.is_mapping()) options.fail("expected options, found " + options.described());
  for (const Value::Field& field : options.value().fields) {
    // One entry may stand for several options that mean the same: "--num-a, --num-b".
    for (std::size_t begin = 0; begin < field.key.size();) {
      const std::size_t end = std::min(field.key.find(", ", begin), field.key.size());
      OptionEntry entry =
          read_option_entry(field.key.substr(begin, end - begin), options.child(field.value, field.key));
      const OptionEntry* other = field.value.kind == Value::Kind::mapping ? nullptr : meanings.find(entry.name);
      if (other != nullptr) entry = other->taking(entry.takes);
      add(std::move(entry));
      begin = end + 2;
    }
  }
  if (const auto refused = root.find("refused")) {
    for (const Node& item : refused->as_items()) refusals_.push_back(read_option_refusal(item));
  }
  root.finish();
}

void OptionList::add(OptionEntry entry) {
  const auto [at, is_new] = places_.emplace(entry.name, entries_.size());
  if (is_new) entries_.push_back(std::move(entry));
  if (!is_new) entries_[at->second] = std::move(entry);
}

const OptionEntry* OptionList::find(std::string_view option) const {
  const auto found = places_.find(option);
  return found == places_.end() ? nullptr : &entries_[found->second];
}

std::size_t OptionList::place(std::string_view option) const {
  const auto found = places_.find(option);
  return found == places_.end() ? entries_.size() : found->second;
}

bool OptionList::has(std::string_view option) const {
  const OptionEntry* found = find(option);
  return found != nullptr && found->written != OptionEntry::Written::never;
}

void OptionList::require(std::string_view option, const std::vector<std::string>& words) const {
  if (!has(option)) fail_internal(fmt::format("{} does not list the option {}", file_, option));
  const std::vector<std::string>& taken = find(option)->takes;
  for (const std::string& word : words) {
    if (!taken.empty() && std::find(taken.begin(), taken.end(), word) == taken.end()) {
      fail_internal(fmt::format("{}: the option {} does not take {}", file_, option, word));
    }
  }
}

void OptionList::require(const LaunchOptions& options) const {
  for (const LaunchOption& option : options.all()) {
    const bool none = option.joined && option.words.front() == "null";
    require(option.name, none ? std::vector<std::string>{} : option.words);
  }
}

const Document& launch_facts(const std::filesystem::path& hardware, std::string_view name) {
  static Remembered<Document> files;
  const std::filesystem::path path = hardware / "launch" / fmt::format("{}.yaml", name);
  return files.get(path.string(), [&] { return Document::from_file(path); });
}

const OptionList& option_list(const std::filesystem::path& hardware, std::string_view name) {
  static Remembered<OptionList> lists;
  return lists.get((hardware / name).string(), [&] { return OptionList(hardware, name); });
}

}  // namespace mirfak

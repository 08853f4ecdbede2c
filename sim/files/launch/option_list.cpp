#include "launch/option_list.hpp"

#include "base/document.hpp"
#include "base/error.hpp"

#include <algorithm>

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
    for (auto& [option, words] : OptionList(hardware, also->as_string()).options_) {
      std::string field = option.substr(option.find_first_not_of('-'));
      std::replace(field.begin(), field.end(), '-', '_');
      options_.emplace(std::move(field), words);
    }
  }
  const Node options = root.require("options");
  if (!options.is_mapping()) options.fail("expected options, found " + options.described());
  for (const Value::Field& field : options.value().fields) {
    std::vector<std::string>& words = options_[field.key];
    for (const Value& item : field.value.items) words.push_back(item.scalar);
  }
  root.finish();
}

void OptionList::require(std::string_view option, const std::vector<std::string>& words) const {
  const auto found = options_.find(option);
  if (found == options_.end()) fail_internal(fmt::format("{} does not list the option {}", file_, option));
  for (const std::string& word : words) {
    const std::vector<std::string>& taken = found->second;
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

}  // namespace mirfak

#include "import/tool_kernels.hpp"

#include "import/program_facts.hpp"
#include "import/yaml_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace mirfak {

namespace {

std::vector<std::string> words_of(const Value* list) {
  std::vector<std::string> out;
  if (list == nullptr) return out;
  for (const Value& item : list->items) out.push_back(item.scalar);
  return out;
}

}  // namespace

Value with_kernels_of_tool(OptionReader& options, Value framework, const Value& rules) {
  for (const Value& rule : rules.items) {
    const std::vector<std::string> switches = words_of(rule.find("switches"));
    const bool on = std::all_of(switches.begin(), switches.end(), [&](const std::string& name) {
      const Option option = options.option(name);
      return !option.is_none() && options.flag(option);
    });
    if (!on) continue;
    for (const std::string& name : switches) options.use(options.option(name), text_under(rule, "says"));
    framework = with_habits(std::move(framework), *rule.find("habits"));
  }
  return framework;
}

void add_settings_of_plugins(std::vector<Setting>& settings, const Value& section) {
  if (section.kind != Value::Kind::mapping) return;
  const std::string option = text_under(section, "option");
  const Value& known = *section.find("settings");
  std::vector<Setting> more;
  for (const Setting& setting : settings) {
    if (setting.name != option) continue;
    for (const Value& plugin : setting.value.items) {
      const Value* brought = known.find(plugin.scalar);
      if (brought == nullptr) {
        more.push_back({fmt::format("{}.{}", option, plugin.scalar), plugin, plugin.where, plugin.scalar});
        continue;
      }
      for (Setting& inner : settings_of(*brought)) {
        inner.where = inner.value.where = inner.value.key_where = plugin.where;
        inner.text = fmt::format("{} ({})", plugin.scalar, inner.text);
        more.push_back(std::move(inner));
      }
    }
  }
  for (Setting& setting : more) {
    const bool stated =
        std::any_of(settings.begin(), settings.end(), [&](const Setting& one) { return one.name == setting.name; });
    if (!stated) settings.push_back(std::move(setting));
  }
}

}  // namespace mirfak

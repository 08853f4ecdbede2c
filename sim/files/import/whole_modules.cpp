#include "import/whole_modules.hpp"

#include "base/text.hpp"
#include "base/values.hpp"

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

namespace mirfak {

void read_whole_modules(OptionReader& options, const Option& option, const ProgramFacts& facts) {
  if (option.is_none()) return options.leave(option, "none");
  const bool one = option.value.kind == Value::Kind::scalar;
  const Value words = one ? words_at_commas(option.value) : option.value;
  std::set<std::string> parts;
  for (const Value& word : words.items) {
    const std::string name = word.scalar.substr(word.scalar.rfind('.') + 1);
    const std::string part = text_under(facts.section("whole_modules"), name);
    if (part.empty()) {
      const std::string reason =
          fmt::format("{} is trained whole beside the adapters, which mirfak does not describe", excerpt(word.scalar));
      options.draft().obstruct(option.setting->where, fmt::format("{}: {}", option.name, reason));
      return options.doubt(option, reason);
    }
    parts.insert(part);
  }
  if (parts.empty()) return options.leave(option, "none");
  options.put(option, "training.lora.whole",
              list_value(std::vector<std::string>(parts.begin(), parts.end()), option.value.where),
              "trained whole beside the adapters");
}

}  // namespace mirfak

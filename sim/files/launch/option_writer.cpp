#include "launch/option_writer.hpp"

#include "launch/job_values.hpp"
#include "launch/launch_targets.hpp"

#include <algorithm>
#include <optional>

namespace mirfak {

namespace {

class OptionWriter {
 public:
  OptionWriter(const Job& job, const OptionList& list, LaunchOptions by_rules)
      : job_(job), list_(list), out_(std::move(by_rules)) {}

  LaunchOptions write() {
    for (const OptionEntry& entry : list_.entries()) {
      if (entry.written == OptionEntry::Written::table && !out_.has(entry.name)) add(entry);
    }
    out_.sort_by([&](const std::string& name) { return list_.place(name); });
    return std::move(out_);
  }

 private:
  std::string value(std::string_view key) const { return job_value(job_, key); }
  bool all_hold(const std::vector<OptionCondition>& conditions) const {
    return std::all_of(conditions.begin(), conditions.end(),
                       [&](const OptionCondition& one) { return one.holds([&](auto key) { return value(key); }); });
  }

  void add(const OptionEntry& entry) {
    if (!all_hold(entry.written_if) || (entry.key.empty() && entry.written_if.empty())) return;
    // Files state a flag as true or false, command lines by its name alone.
    const bool flag = entry.form == OptionEntry::Form::flag && entry.name.starts_with('-');
    if (entry.key.empty()) return flag ? out_.flag(entry.name) : out_.value(entry.name, entry.writes);
    const std::string own = value(entry.key);
    const bool other_key = entry.unless.find('.') != std::string::npos;
    if (own.empty() || own == (other_key ? value(entry.unless) : entry.unless)) return;
    const std::optional<std::string> word = entry.word_for(own);
    if (flag && (word || !entry.written_if.empty())) return out_.flag(entry.name);
    if (!flag && word) return out_.value(entry.name, *word);
    require_expressible(flag || entry.refused.reason.empty(), entry.key, entry.refused.reason, entry.refused.word);
  }

  const Job& job_;
  const OptionList& list_;
  LaunchOptions out_;
};

}  // namespace

LaunchOptions written_options(const Job& job, const OptionList& list, LaunchOptions by_rules) {
  return OptionWriter(job, list, std::move(by_rules)).write();
}

void require_possible(const Job& job, const OptionList& list, std::string_view elsewhere) {
  const auto value_of = [&](std::string_view key) { return job_value(job, key); };
  for (const OptionRefusal& refusal : list.refusals()) {
    if (!elsewhere.empty() && refusal.key.starts_with(elsewhere)) continue;
    const bool refused = std::all_of(refusal.conditions.begin(), refusal.conditions.end(),
                                     [&](const OptionCondition& one) { return one.holds(value_of); });
    if (!refused) continue;
    const bool names_value = refusal.reason.find("{}") != std::string::npos;
    const std::string value = names_value ? value_of(refusal.key) : "";
    require_expressible(false, refusal.key, fmt::format(fmt::runtime(refusal.reason), value), refusal.hint);
  }
}

}  // namespace mirfak

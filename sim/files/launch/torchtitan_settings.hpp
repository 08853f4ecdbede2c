#pragma once

#include "launch/launch_program.hpp"
#include "program/job.hpp"

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace mirfak {

// A setting of torchtitan: "parallelism.tensor_parallel_degree".
struct TitanSetting {
  enum class Kind { number, word, flag, words, groups } kind{};
  std::string name;
  std::string value;                             // number, word; flag: "true" or "false"
  std::vector<std::vector<std::string>> groups;  // words: the first group
};

// Settings in the order in which they are added, section after section.
class TitanSettings {
 public:
  void section(std::string_view name) { section_ = name; }
  void text(std::string_view key, std::string_view word) { add(TitanSetting::Kind::word, key, std::string(word)); }
  template <typename T>
  void value(std::string_view key, const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      add(TitanSetting::Kind::flag, key, value ? "true" : "false");
    } else {
      add(TitanSetting::Kind::number, key, fmt::format("{}", value));
    }
  }
  void words(std::string_view key, std::vector<std::string> words) {
    add(TitanSetting::Kind::words, key, "", {std::move(words)});
  }
  void groups(std::string_view key, std::vector<std::vector<std::string>> groups) {
    add(TitanSetting::Kind::groups, key, "", std::move(groups));
  }
  const std::vector<TitanSetting>& all() const { return all_; }

 private:
  void add(TitanSetting::Kind kind, std::string_view key, std::string value,
           std::vector<std::vector<std::string>> groups = {}) {
    all_.push_back({kind, section_ + "." + std::string(key), std::move(value), std::move(groups)});
  }

  std::string section_;
  std::vector<TitanSetting> all_;
};

// The form in which a release takes its settings.
enum class TitanForm {
  toml,    // a file, which names the model and its converters
  command  // options after --module and --config, which name them
};

// Returns batch, precision and strategy as settings. A schedule that torchtitan has no name for goes to `files` as a
// CSV if the form is a command line. Error(infeasible) for a job that torchtitan has no setting for, or does not
// combine.
TitanSettings torchtitan_settings(const Job& job, TitanForm form, std::vector<LaunchFile>& files);

// Adds the pipeline's settings: schedule, microbatches and layers of each part of the model.
void add_torchtitan_pipeline(TitanSettings& out, const Job& job, TitanForm form, std::vector<LaunchFile>& files);

}  // namespace mirfak

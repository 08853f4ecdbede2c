#pragma once

#include "program/job.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace mirfak {

// One function per target of launch_arguments.hpp, each in the file of that name.
std::string megatron_arguments(const Job& job);
std::string torchtitan_config(const Job& job);
std::string deepspeed_arguments(const Job& job);

// Command-line arguments, one per line in the order in which they are added.
class ArgumentLines {
 public:
  void flag(std::string_view name) { text_ += fmt::format("{}\n", name); }
  template <typename T>
  void value(std::string_view name, const T& value) {
    text_ += fmt::format("{} {}\n", name, value);
  }
  void comment(std::string_view sentence) { text_ += fmt::format("# {}\n", sentence); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Error(infeasible) for a key of the scenario, unless `expressible`.
void require_expressible(bool expressible, std::string_view key, std::string_view reason, std::string_view hint);

// "world size 128: 16 nodes of 8 GPUs", and what goes into the environment.
std::string world_comment(const Job& job);

}  // namespace mirfak

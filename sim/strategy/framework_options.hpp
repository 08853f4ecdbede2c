#pragma once

#include "strategy/framework.hpp"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mirfak {

// Where a framework keeps a habit.
using HabitField = std::variant<bool*, int*, double*, NormKernels*, std::vector<std::string>*, std::vector<FusedChain>*,
                                std::vector<PlainKernel>*>;
// What a list of words may hold; nullptr: any word.
using Vocabulary = const std::vector<std::string>& (*)();

// One habit as framework files state it.
struct FrameworkOption {
  std::string_view key;
  std::string_view unit;      // "s", "bytes", ...; "" of what has none
  std::string_view sentence;  // of the reference, where it follows the key
  HabitField (*field)(Framework& framework);
  double minimum = 0;  // of numbers
  double maximum = 0;
  Vocabulary vocabulary = nullptr;
};

// The habits of one subject: a mapping of a framework file.
struct FrameworkOptionGroup {
  std::string_view key;
  std::string_view sentence;
  std::string& (*source)(Framework& framework);
  std::vector<FrameworkOption> options;
};

// All habits there are. A new one is a field in framework.hpp, an entry here, and its line in
// hw_profiles/frameworks/README.md.
const std::vector<FrameworkOptionGroup>& framework_options();

// What `framework` has for a habit, as people read it: "66.67 us", "8 bytes", "true", "cudnn, flash-2".
std::string habit_text(const Framework& framework, const FrameworkOption& option);

const std::vector<std::string>& norm_kernel_names();  // in the order of the enumeration
// What chains and epilogues are made of: what operators of one pass compute, "bias" (a sum with a parameter) and "add"
// (of activations).
const std::vector<std::string>& fusion_words();

}  // namespace mirfak

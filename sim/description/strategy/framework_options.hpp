#pragma once

#include "strategy/framework.hpp"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mirfak {

// Pointer to the field in which a framework keeps a habit.
using HabitField = std::variant<bool*, int*, double*, NormKernels*, std::vector<std::string>*, std::vector<FusedChain>*,
                                std::vector<PlainKernel>*, std::vector<AttentionCopies>*>;
// Returns the words that a list may hold; nullptr: any word.
using Vocabulary = const std::vector<std::string>& (*)();

// A habit as framework files state it.
struct FrameworkOption {
  std::string_view key;
  std::string_view unit;      // "s", "bytes", ...; "": no unit
  std::string_view sentence;  // description in the reference, after the key
  HabitField (*field)(Framework& framework);
  double minimum = 0;  // range of a number
  double maximum = 0;
  Vocabulary vocabulary = nullptr;
  bool by_architecture = false;  // a word may end in "@ARCHITECTURE" of GPUs
};

// Habits of one subject: a mapping in a framework file.
struct FrameworkOptionGroup {
  std::string_view key;
  std::string_view sentence;
  std::string& (*source)(Framework& framework);
  std::vector<FrameworkOption> options;
};

// Returns all habits. A new habit needs a field in framework.hpp, an entry here, and a line in
// hw_profiles/frameworks/README.md.
const std::vector<FrameworkOptionGroup>& framework_options();

// Returns the value of a habit in `framework`, formatted for readers: "66.67 us", "8 bytes", "true", "cudnn, flash-2".
std::string habit_text(const Framework& framework, const FrameworkOption& option);

const std::vector<std::string>& norm_kernel_names();  // ordered as the enumeration
// Returns the words that chains and epilogues consist of: names of operators of one pass, "bias" (a sum with a
// parameter), "add" (a sum of activations) and other arithmetic.
const std::vector<std::string>& fusion_words();
// Returns the words for kernels whose results a framework may fill before they are written: "linear" (products of
// linear layers), "normalization", "attention", "rotary" and "copies" (AttentionCopies).
const std::vector<std::string>& filled_words();

}  // namespace mirfak

#include "import/narrow_weights.hpp"

#include "import/program_facts.hpp"

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

bool is_among(const Value& words, const std::string& word) {
  return std::any_of(words.items.begin(), words.items.end(), [&](const Value& one) { return one.scalar == word; });
}

// True if the optimizer keeps moments in the type of its parameters, and steps on whole gradients.
bool keeps_moments_of_parameters(OptionReader& options, const Value& optimizers) {
  return options.said("training.low_rank_gradients.rank").empty() &&
         is_among(optimizers, options.word(options.option("optim")));
}

}  // namespace

std::optional<NarrowWeights> narrow_weights(OptionReader& options, const Value& tool, const Value& trainer) {
  if (tool.kind == Value::Kind::mapping) {
    const std::string name = text_under(tool, "switch");
    const Option by = options.option(name.empty() ? "bf16" : name);
    if (!options.flag(by)) return std::nullopt;
    NarrowWeights out{by, text_under(tool, "note"), text_under(tool, "sharded") == "true"};
    if (!name.empty()) return out;
    if (by.setting == nullptr) out.by.value.where = {};
    out.by.setting = nullptr;  // which says the precision
    return out;
  }
  if (trainer.kind != Value::Kind::mapping) return std::nullopt;
  for (const Value& name : trainer.find("options")->items) {
    const Option by = options.option(name.scalar);
    if (by.is_none() || by.value.kind != Value::Kind::scalar) continue;
    if (is_among(*trainer.find("values"), by.value.scalar)) {
      return NarrowWeights{by, text_under(trainer, "note"), false};
    }
  }
  return std::nullopt;
}

Value with_narrow_weights(OptionReader& options, Value framework, const NarrowWeights& weights, const Value& trainer,
                          bool sharded) {
  if (weights.by.setting == nullptr) {
    options.draft().notes.push_back({weights.by.value.where, weights.note});
  } else {
    options.use(weights.by, weights.note);
  }
  if (keeps_moments_of_parameters(options, *trainer.find("moments"))) {
    for (const char* key : {"training.first_moment", "training.second_moment"}) {
      options.put(weights.by, key, "bf16", "the optimizer keeps its state in the type of the parameters");
    }
  }
  return with_habits(std::move(framework), *trainer.find(sharded ? "sharded" : "habits"));
}

}  // namespace mirfak

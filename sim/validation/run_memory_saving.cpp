// What people turn on when a run does not fit, in the order of what it costs: formats that Transformer Engine keeps
// parameters and activation inputs in (nothing, a cast), recomputation (up to a third of the time), sharded optimizer
// state (communication once an iteration). The first combination that fits is the least that the run must have done.

#include "validation/run_memory_saving.hpp"

#include "validation/run_software.hpp"
#include "validation/run_words.hpp"

#include <fmt/format.h>

namespace mirfak {

namespace {

// Linear layers of Transformer Engine in a narrow format.
bool is_narrow(const MeasuredRun& run) {
  return RunWords(run.precision).has_any({"fp8", "nvfp4"}) && framework_of(run) == "megatron-core";
}

std::vector<RunVariant> with_formats(const MeasuredRun& run) {
  std::vector<RunVariant> out = {{run, ""}};
  if (!is_narrow(run)) return out;
  const RunWords flags(run.flags);
  const auto add = [&](const char* word, const char* assumed) {
    RunVariant next = out.back();
    next.run.flags += fmt::format("; {}=1", word);
    next.assumed += (next.assumed.empty() ? "" : ", ") + std::string(assumed);
    out.push_back(std::move(next));
  };
  if (!flags.switch_of("fp8_param_gather") && run.kind != "lora") add("FP8_PARAM_GATHER", "parameters in 8 bits");
  if (!flags.switch_of("fp8_act")) add("FP8_ACT", "activation inputs in 8 bits");
  return out;
}

// Every n-th block is recomputed: n falls from 4 to 1.
std::vector<RunVariant> with_recomputed_blocks(const RunVariant& of) {
  std::vector<RunVariant> out;
  for (std::int64_t n = 4; n >= 1; --n) {
    RunVariant next = of;
    next.run.recompute = "full";
    next.run.flags += fmt::format("; recompute_num_layers={}", (of.run.layers.value_or(n) + n - 1) / n);
    next.assumed = fmt::format("recompute full, every block of {}", n);
    out.push_back(std::move(next));
  }
  return out;
}

RunVariant with_recompute(RunVariant variant, const char* how) {
  variant.run.recompute = how;
  variant.assumed += fmt::format("{}recompute {}", variant.assumed.empty() ? "" : ", ", how);
  return variant;
}

}  // namespace

std::vector<RunVariant> variants_by_memory(const MeasuredRun& run) {
  if (RunWords(run.flags).has("every n-th block")) return with_recomputed_blocks({run, ""});
  std::vector<RunVariant> out = with_formats(run);
  if (run.recompute.empty()) {
    const RunVariant thriftiest = out.back();
    out.push_back(with_recompute(thriftiest, "selective"));
    out.push_back(with_recompute(thriftiest, "full"));
  }
  if (!run.zero_stage.empty() || run.data.value_or(2) == 1) return out;
  const std::vector<RunVariant> whole = out;
  for (RunVariant variant : whole) {
    variant.run.zero_stage = "1";
    variant.assumed += variant.assumed.empty() ? "ZeRO 1" : ", ZeRO 1";
    out.push_back(std::move(variant));
  }
  return out;
}

}  // namespace mirfak

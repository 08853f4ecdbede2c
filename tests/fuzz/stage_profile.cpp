// Any bytes are either measured passes of stages, each with its time and energy, or an input error that says where.

#include "energy/stage_profile.hpp"
#include "base/error.hpp"
#include "require.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

using namespace mirfak;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    const StageProfile profile = read_stage_profile_text({reinterpret_cast<const char*>(bytes), size}, "profile.csv");
    require(!profile.stages.empty());
    for (const auto& passes : profile.stages) {
      require(!passes[static_cast<std::size_t>(Pass::Kind::forward)].empty());
      for (const std::vector<ClockChoice>& choices : passes) {
        for (const ClockChoice& choice : choices) require(choice.duration > 0 && choice.energy_j >= 0);
      }
    }
  } catch (const Error& error) {
    require_refusal(error);
  }
  return 0;
}

#include "energy/clocked_program.hpp"

#include <fmt/format.h>

namespace mirfak {

std::vector<std::string> notes_on_choices(const ClockedProgram& clocked) {
  std::size_t settings = 0;
  std::size_t dominated = 0;
  std::size_t above_hull = 0;
  std::size_t single = 0;
  for (std::size_t kind = 0; kind < clocked.choices.size(); ++kind) {
    settings += clocked.settings[kind].size();
    dominated += clocked.choices[kind].dominated;
    above_hull += clocked.choices[kind].above_hull;
    single += clocked.choices[kind].useful.size() == 1 ? 1 : 0;
  }
  std::vector<std::string> out = clocked.left_out;
  if (dominated > 0) {
    out.push_back(
        fmt::format("{} of {} settings left out: another of the same pass is no slower and needs no more energy "
                    "above that of waiting",
                    dominated, settings));
  }
  if (above_hull > 0) {
    out.push_back(
        fmt::format("{} of {} settings above the convex hull of their pass: used where plans are rounded to "
                    "clocks, not for the curve",
                    above_hull, settings));
  }
  if (single > 0) {
    out.push_back(fmt::format("{} of {} kinds of pass have a single useful clock", single, clocked.choices.size()));
  }
  return out;
}

}  // namespace mirfak

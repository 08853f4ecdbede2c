// A sweep file either is read, and then its definition is a sweep file that says the same, or it is an input error.

#include "base/error.hpp"
#include "require.hpp"
#include "scenario/sweep_file.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    const auto document = mirfak::Document::from_text(std::string(bytes, bytes + size), "input.yaml");
    const mirfak::SweepFile sweep = mirfak::parse_sweep(document);
    std::vector<std::uint32_t> digits;
    sweep.find_digits(sweep.points() - 1, digits);
    mirfak::require(sweep.point_at(sweep.points() - 1) == sweep.points() - 1);
    const auto again = mirfak::parse_sweep(mirfak::Document::from_text(sweep.definition(), "again.yaml"));
    mirfak::require(again.definition() == sweep.definition());
  } catch (const mirfak::Error& error) {
    mirfak::require(error.kind() == mirfak::ErrorKind::input && error.where().file != "again.yaml", error.what());
  }
  return 0;
}

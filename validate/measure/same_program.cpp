#include "measure/same_program.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mirfak::measure {

namespace {

// Fowler, Noll and Vo's hash (FNV-1a).
class Digest {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) value_ = (value_ ^ static_cast<std::uint64_t>(byte)) * 1099511628211U;
  }
  template <typename Number>
  void add_all(const std::vector<Number>& numbers) {
    add(std::as_bytes(std::span(numbers)));
  }
  // Halves, which numbers of any kind hold exactly.
  std::array<double, 2> halves() const {
    return {static_cast<double>(value_ >> 32U), static_cast<double>(value_ & 0xFFFF'FFFFU)};
  }

 private:
  std::uint64_t value_ = 14695981039346656037U;
};

std::array<double, 2> digest_of(const Program& program) {
  Digest out;
  out.add_all(program.stream);
  out.add_all(program.task_class);
  out.add_all(program.microbatch);
  out.add_all(program.dependency_begin);
  out.add_all(program.dependencies);
  for (const TaskClass& described : program.classes) {
    out.add(std::as_bytes(std::span(described.name)));
    out.add(std::as_bytes(std::span(&described.bytes, 1)));
    out.add(std::as_bytes(std::span(&described.flop, 1)));
  }
  return out.halves();
}

}  // namespace

void check_same_program(const World& world, const Program& program, const std::string& scenario) {
  const auto of_ranks = world.gather(digest_of(program));
  const auto differs = [&](const std::vector<double>& of_rank) { return of_rank != of_ranks.front(); };
  auto other = std::find_if(of_ranks.begin(), of_ranks.end(), differs) - of_ranks.begin();
  if (world.rank() == 0 && other == world.size()) other = 0;
  world.tell_all(std::as_writable_bytes(std::span(&other, 1)), 0, "hear whether all have one program");
  if (other == 0) return;
  fail_input({},
             fmt::format("ranks 0 and {} make different programs of {}: they read different files", other, scenario),
             "give all machines the same scenario, models, profiles and schedule files");
}

}  // namespace mirfak::measure

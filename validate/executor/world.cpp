#include "executor/world.hpp"

#include "executor/machine.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>

namespace mirfak::measure {

void ClockEstimate::add_round(double before, double of_rank_0, double after) {
  if ((after - before) / 2 >= error_s_) return;
  error_s_ = (after - before) / 2;
  offset_s_ = of_rank_0 - (after + before) / 2;
}

std::vector<int> World::machines() const {
  const MachineId id = this_machine();
  std::array<double, sizeof(MachineId) / sizeof(double)> own{};
  std::memcpy(own.data(), id.data(), sizeof id);
  std::vector<int> out(static_cast<std::size_t>(size()));
  std::map<MachineId, int> first;
  int next = 0;
  for (const std::vector<double>& of_rank : gather(own)) {
    MachineId machine{};
    std::memcpy(machine.data(), of_rank.data(), sizeof machine);
    out[static_cast<std::size_t>(next)] = first.try_emplace(machine, next).first->second;
    ++next;
  }
  tell_all(std::as_writable_bytes(std::span(out)), 0, "tell machines apart");
  return out;
}

void World::abort(int status) const {
  end_others(status);
  std::_Exit(status);
}

}  // namespace mirfak::measure

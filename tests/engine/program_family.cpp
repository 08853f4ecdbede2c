#include "program_family.hpp"

#include "engine/max_min.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

namespace mirfak {

namespace {

// Reads the digits of a number in mixed bases, lowest first: enumerates combinations.
class Digits {
 public:
  explicit Digits(std::uint64_t number) : number_(number) {}
  std::uint32_t next(std::uint32_t base) {
    const auto digit = static_cast<std::uint32_t>(number_ % base);
    number_ /= base;
    return digit;
  }

 private:
  std::uint64_t number_;
};

std::vector<TaskId> earlier_tasks(Digits& digits, TaskId task) {
  std::vector<TaskId> chosen;
  for (TaskId before = 0; before < task; ++before) {
    if (digits.next(2) == 1) chosen.push_back(before);
  }
  return chosen;
}

}  // namespace

Program bare_program(std::uint32_t streams) {
  Program program;
  for (std::uint32_t rank = 0; rank < streams; ++rank) program.add_stream(rank, StreamKind::compute);
  TaskClass work;
  work.kind = TaskKind::kernel;
  work.name = "work";
  program.add_class(std::move(work));
  return program;
}

std::vector<LinkUse> uses_of(const std::vector<std::pair<LinkId, double>>& demands) {
  std::map<LinkId, double> by_link;
  for (const auto& [link, demand] : demands) {
    if (demand > 0) by_link[link] += demand;
  }
  std::vector<LinkUse> uses;
  for (const auto& [link, demand] : by_link) uses.push_back({link, demand});
  return uses;
}

std::vector<double> speeds_from_scratch(const std::vector<std::vector<std::pair<LinkId, double>>>& demands,
                                        const std::vector<double>& capacities, double largest) {
  for (const auto& of_task : demands) {
    for (const LinkUse& use : uses_of(of_task)) largest = std::max(largest, use.bytes_per_s);
  }
  MaxMin network(capacities, largest, demands.size());
  for (std::uint32_t task = 0; task < demands.size(); ++task) network.add(task, uses_of(demands[task]));
  network.settle();
  std::vector<double> speeds;
  for (std::uint32_t task = 0; task < demands.size(); ++task) speeds.push_back(network.speed(task));
  return speeds;
}

ClassId add_flow_class(Program& program, const std::vector<std::pair<LinkId, double>>& demands) {
  TaskClass flow;
  flow.kind = TaskKind::transfer;
  flow.name = "flow";
  flow.traffic = program.add_traffic(uses_of(demands));
  return program.add_class(std::move(flow));
}

std::span<const LinkUse> uses_of(const Program& program, ClassId flow) {
  const std::uint32_t entry = program.classes[flow].traffic;
  return {program.link_uses.data() + program.link_use_begin[entry],
          program.link_uses.data() + program.link_use_begin[entry + 1]};
}

Program without_traffic(Program program) {
  for (TaskClass& task_class : program.classes) task_class.traffic = kNoTraffic;
  program.link_uses.clear();
  return program;
}

std::uint64_t draw(std::mt19937_64& random, std::uint64_t below) { return random() % below; }

double draw_bandwidth(std::mt19937_64& random, std::uint32_t most) {
  return static_cast<double>(1 + draw(random, most));
}

Program random_program(std::mt19937_64& random, const RandomShape& shape) {
  Program program = bare_program(1 + static_cast<std::uint32_t>(draw(random, shape.max_streams)));
  for (LinkId link = 0; link < shape.links; ++link) {
    program.links.push_back({"link " + std::to_string(link), 20 + draw_bandwidth(random, 80)});
  }
  for (std::uint32_t k = 0; shape.links > 0 && k < 6; ++k) {
    std::vector<std::pair<LinkId, double>> demands;
    for (LinkId link = 0; link < shape.links; ++link) {
      if (draw(random, 3) == 0) demands.emplace_back(link, static_cast<double>(draw(random, 80)));
    }
    add_flow_class(program, demands);
  }
  const auto tasks = static_cast<TaskId>(1 + draw(random, shape.max_tasks));
  for (TaskId task = 0; task < tasks; ++task) {
    std::vector<TaskId> after;
    const std::uint64_t wanted = task == 0 ? 0 : draw(random, shape.max_dependencies + 1);
    for (std::uint64_t k = 0; k < wanted; ++k) after.push_back(static_cast<TaskId>(draw(random, task)));
    const auto lasting = static_cast<Picoseconds>(draw(random, static_cast<std::uint64_t>(shape.max_lasting) + 1));
    program.add_task(static_cast<StreamId>(draw(random, program.streams.size())),
                     static_cast<ClassId>(draw(random, program.classes.size())), lasting, after);
  }
  return program;
}

void visit_tiny_programs(std::uint32_t max_tasks, const std::function<void(const Program&)>& visit) {
  constexpr Picoseconds lastings[] = {0, 1, 3};
  for (std::uint32_t tasks = 0; tasks <= max_tasks; ++tasks) {
    std::uint64_t combinations = 1;
    for (TaskId task = 0; task < tasks; ++task) combinations *= 2 * 3 * (1ULL << task);
    for (std::uint64_t number = 0; number < combinations; ++number) {
      Digits digits(number);
      Program program = bare_program(2);
      for (TaskId task = 0; task < tasks; ++task) {
        const StreamId stream = digits.next(2);
        const Picoseconds lasting = lastings[digits.next(3)];
        program.add_task(stream, 0, lasting, earlier_tasks(digits, task));
      }
      visit(program);
    }
  }
}

void visit_tiny_sharing_programs(const std::function<void(const Program&)>& visit) {
  constexpr Picoseconds lastings[] = {0, 1000, 3000};
  constexpr std::uint64_t combinations = (4 * 3) * (4 * 3 * 2) * (4 * 3 * 4);
  for (std::uint64_t number = 0; number < combinations; ++number) {
    Digits digits(number);
    Program program = bare_program(3);
    program.links = {{"full", 100}, {"half", 100}};
    add_flow_class(program, {{0, 100}});
    add_flow_class(program, {{1, 70}});
    add_flow_class(program, {{0, 50}, {1, 90}});
    for (TaskId task = 0; task < 3; ++task) {
      const ClassId task_class = digits.next(4);
      const Picoseconds lasting = lastings[digits.next(3)];
      program.add_task(task, task_class, lasting, earlier_tasks(digits, task));
    }
    visit(program);
  }
}

}  // namespace mirfak

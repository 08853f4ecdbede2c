#include "base/units.hpp"
#include "report/explanation.hpp"
#include "report/jobs_report.hpp"
#include "report/link_report.hpp"

#include <fmt/format.h>

#include <cmath>

namespace mirfak {

namespace {

std::string added_text(double seconds) { return std::abs(seconds) < 1e-12 ? "-" : format_seconds(seconds); }

// Returns the time that a job's own traffic adds to its iteration, and the time that the other jobs' traffic adds.
Section adds_section(const JobsFile& file, const JointSimulation& simulation) {
  Table table("job | >if no link were short | >own traffic adds | >alone | >the others add | >together");
  for (std::size_t i = 0; i < file.jobs.size(); ++i) {
    const double unbound = unbound_iteration_s(simulation.alone[i]);
    const double alone = simulation.jobs[i].alone.iteration_time_s;
    const double together = simulation.jobs[i].mean_s;
    const int digits = digits_for_steps(together - unbound, together);
    table.add({file.jobs[i].name, in_seconds(unbound, digits), added_text(alone - unbound), in_seconds(alone, digits),
               added_text(together - alone), in_seconds(together, digits)});
  }
  return {"What the network adds to an iteration", {table}};
}

// Returns the change of each job's iteration time if one other job is left out.
Section without_section(const JobsFile& file, const JointSimulation& simulation,
                        std::span<const std::vector<double>> without) {
  Table table("job");
  for (const NamedJob& job : file.jobs) table.add_column("without " + job.name);
  for (std::size_t i = 0; i < without.size(); ++i) {
    std::vector<Cell> row = {file.jobs[i].name};
    for (std::size_t j = 0; j < without.size(); ++j) {
      const double change = without[i][j] / simulation.jobs[i].mean_s - 1;
      row.emplace_back(i == j ? "" : std::abs(change) < 0.0005 ? "-" : format_signed_percent(change));
    }
    table.add(std::move(row));
  }
  return {"What an iteration would take without each job, next to what it takes with all", {table}};
}

Section joint_links_section(const JointSimulation& simulation, const NetworkUse& links) {
  if (!links.binds()) return {"The links that bind while all jobs run: no link is short", {}};
  Section out = {fmt::format("The links that bind while all jobs run, {}", format_seconds(simulation.together_s())),
                 {}};
  add_link_tables(links, out);
  out.add(
      "  by a job: what its traffic adds. With a job's own traffic alone, of which A is asked of a link of B, it "
      "would\n"
      "  run at B/A; what it is slower than that is the others', in proportion to what they ask of the link\n");
  return out;
}

}  // namespace

std::vector<Section> network_explanation(const JobsFile& file, std::span<const JobAmong> jobs,
                                         const JointSimulation& simulation, const NetworkUse& links,
                                         const LoweringOptions& lowering) {
  constexpr std::size_t most = 16;  // jobs that are left out one by one
  std::vector<Section> out = {adds_section(file, simulation)};
  if (jobs.size() > 2 && jobs.size() <= most) {
    out.push_back(without_section(file, simulation, without_each(jobs, file.iterations, lowering)));
  }
  out.push_back(joint_links_section(simulation, links));
  return out;
}

std::vector<Section> jobs_explanation(const JobsFile& file, std::span<const JobAmong> jobs,
                                      const JointSimulation& simulation, const NetworkUse& links,
                                      const LoweringOptions& lowering) {
  std::vector<Section> out = network_explanation(file, jobs, simulation, links, lowering);
  for (std::size_t i = 0; i < file.jobs.size(); ++i) {
    out.push_back({fmt::format("The job {} alone", file.jobs[i].name), {}});
    for (Section& section : explanation(file.jobs[i].scenario, simulation.alone[i])) out.push_back(std::move(section));
  }
  return out;
}

}  // namespace mirfak

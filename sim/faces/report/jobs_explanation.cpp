#include "base/units.hpp"
#include "report/explain_text.hpp"
#include "report/jobs_report.hpp"
#include "report/link_report.hpp"
#include "report/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

std::string added_text(double seconds, int digits) {
  return std::abs(seconds) < 1e-12 ? "-" : format_seconds(seconds, digits);
}

// Returns the time that a job's own traffic adds to its iteration, and the time that the other jobs' traffic adds.
std::string adds_table(const JobsFile& file, const JointSimulation& simulation) {
  TextTable table("lrrrrr");
  table.add_row({"job", "if no link were short", "own traffic adds", "alone", "the others add", "together"});
  for (std::size_t i = 0; i < file.jobs.size(); ++i) {
    const double unbound = unbound_iteration_s(simulation.alone[i]);
    const double alone = simulation.jobs[i].alone.iteration_time_s;
    const double together = simulation.jobs[i].mean_s;
    const int digits = digits_for_steps(together - unbound, together);
    table.add_row({file.jobs[i].name, format_seconds(unbound, digits), added_text(alone - unbound, 3),
                   format_seconds(alone, digits), added_text(together - alone, 3), format_seconds(together, digits)});
  }
  return table.text();
}

// Returns the change of each job's iteration time if one other job is left out.
std::string without_table(const JobsFile& file, const JointSimulation& simulation,
                          std::span<const std::vector<double>> without) {
  TextTable table("l" + std::string(file.jobs.size(), 'r'));
  std::vector<std::string> head = {"job"};
  for (const NamedJob& job : file.jobs) head.push_back("without " + job.name);
  table.add_row(head);
  for (std::size_t i = 0; i < without.size(); ++i) {
    std::vector<std::string> row = {file.jobs[i].name};
    for (std::size_t j = 0; j < without.size(); ++j) {
      const double change = without[i][j] / simulation.jobs[i].mean_s - 1;
      row.push_back(i == j ? "" : std::abs(change) < 0.0005 ? "-" : format_signed_percent(change));
    }
    table.add_row(std::move(row));
  }
  return "\nWhat an iteration would take without each job, beside what it takes with all\n" + table.text();
}

std::string links_section(const JointSimulation& simulation, const NetworkUse& links) {
  if (!links.binds()) return "\nThe links that bind while all jobs run: no link is short\n";
  return fmt::format("\nThe links that bind while all jobs run, {}\n", format_seconds(simulation.together_s())) +
         link_tables(links) +
         "  by a job: what its traffic adds. With a job's own traffic alone, of which A is asked of a link of B, it "
         "would\n"
         "  run at B/A; what it is slower than that is the others', in proportion to what they ask of the link\n";
}

}  // namespace

std::string jobs_explanation(const JobsFile& file, const JointSimulation& simulation, const NetworkUse& links,
                             std::span<const std::vector<double>> without) {
  std::string out = "What the network adds to an iteration\n" + adds_table(file, simulation);
  if (!without.empty()) out += without_table(file, simulation, without);
  out += links_section(simulation, links);
  for (std::size_t i = 0; i < file.jobs.size(); ++i) {
    out += fmt::format("\nThe job {} alone\n\n", file.jobs[i].name) +
           explain_text(file.jobs[i].scenario, simulation.alone[i]);
  }
  return out;
}

std::string explained_jobs(const JobsFile& file, std::span<const JobAmong> jobs, const JointSimulation& simulation,
                           const NetworkUse& links, const LoweringOptions& lowering) {
  constexpr std::size_t most = 16;  // jobs that are left out one by one
  std::vector<std::vector<double>> without;
  if (jobs.size() > 2 && jobs.size() <= most) without = without_each(jobs, file.iterations, lowering);
  return jobs_explanation(file, simulation, links, without);
}

}  // namespace mirfak

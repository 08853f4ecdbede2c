#include "report/jobs_report.hpp"

#include "base/section.hpp"
#include "base/units.hpp"
#include "report/job_text.hpp"
#include "report/link_report.hpp"
#include "report/result_json.hpp"
#include "simulation/laws.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kJobDigits = 4;  // enough digits for differences of some percent

std::string job_seconds(double seconds) { return format_seconds(seconds, kJobDigits); }

// Returns the nodes of a job. A long list is cut: JSON has all of it.
std::string short_nodes_text(std::span<const int> nodes) {
  constexpr std::size_t most = 20;
  std::string out = nodes_text(nodes);
  if (out.size() <= most) return out;
  out.resize(out.rfind(',', most) + 1);
  return fmt::format("{}... ({})", out, nodes.size());
}

std::string jobs_table(const JobsFile& file, const JointSimulation& simulation) {
  Table table("job | nodes | >GPUs | >alone | >together | >slower by | >least | >most | >iterations");
  for (std::size_t i = 0; i < file.jobs.size(); ++i) {
    const NamedJob& job = file.jobs[i];
    const JobAmongOthers& of = simulation.jobs[i];
    table.add({job.name, short_nodes_text(job.nodes), std::to_string(job.job().cluster.gpus()),
               job_seconds(of.alone.iteration_time_s), job_seconds(of.mean_s), format_percent(of.slowdown()),
               job_seconds(of.least_s), job_seconds(of.most_s), std::to_string(of.iterations)});
  }
  return table.text();
}

std::string strategies_table(const JobsFile& file) {
  Table table("|");
  for (const NamedJob& job : file.jobs) {
    table.add({job.name, model_text(job.job().model)});
    table.add({"", strategy_text(job.job())});
  }
  return table.text();
}

// Returns the JSON of a single job, without wall time and events: they are of the simulation of all jobs.
Json iteration_json(const Job& job, const IterationResult& result) {
  Json out = result_json(job, result, 0);
  for (const char* key : {"wall_time_s", "events"}) out.erase(key);
  return out;
}

std::string network_text(std::size_t contended_links) {
  if (contended_links == 0) {
    return "  jobs send over no link that could be short: they do not slow each other down\n";
  }
  return fmt::format(
      "  several jobs send over {} link{} between switches that may be short (those that carry the same count once)\n",
      contended_links, contended_links == 1 ? "" : "s");
}

}  // namespace

std::string nodes_text(std::span<const int> nodes) {
  std::string out;
  for (std::size_t first = 0; first < nodes.size();) {
    std::size_t last = first;
    while (last + 1 < nodes.size() && nodes[last + 1] == nodes[last] + 1) ++last;
    out += out.empty() ? "" : ",";
    out += first == last ? std::to_string(nodes[first]) : fmt::format("{}-{}", nodes[first], nodes[last]);
    first = last + 1;
  }
  return out;
}

std::vector<std::string> jobs_notes(const JobsFile& file, const JointSimulation& simulation) {
  constexpr double settled = 0.005;
  std::vector<std::string> out = file.notes;
  for (std::size_t i = 0; i < file.jobs.size(); ++i) {
    for (std::string& note : notes_on(file.jobs[i].job(), simulation.jobs[i].together)) {
      if (std::find(out.begin(), out.end(), note) == out.end()) out.push_back(std::move(note));
    }
    const JobAmongOthers& of = simulation.jobs[i];
    if (std::abs(of.later_mean_s / of.mean_s - 1) <= settled) continue;
    out.push_back(
        fmt::format("{} has not settled: in the second half of its iterations one takes {} on average, over all {}; "
                    "raise iterations",
                    file.jobs[i].name, job_seconds(of.later_mean_s), job_seconds(of.mean_s)));
  }
  return out;
}

std::string jobs_text(const JobsFile& file, const JointSimulation& simulation) {
  Table head("|", 0);
  head.add({"scenario", file.name});
  head.add({"cluster", cluster_text(file.cluster)});
  return head.text() + "\nJobs\n" + strategies_table(file) +
         fmt::format("\nIterations while all jobs run, {}\n", job_seconds(simulation.together_s())) +
         jobs_table(file, simulation) + "\n" + network_text(simulation.joint.contended_links) +
         jobs_energy_text(file, simulation) + notes_text(jobs_notes(file, simulation));
}

LinksTitle jobs_links_title(const JobsFile& file, const JointSimulation& simulation) {
  constexpr std::size_t most = 4;  // jobs for which the line has room
  const bool all = file.jobs.size() <= most;
  std::vector<std::string> parts;
  std::size_t slowest = 0;
  for (std::size_t i = 0; i < file.jobs.size(); ++i) {
    const JobAmongOthers& of = simulation.jobs[i];
    if (of.slowdown() > simulation.jobs[slowest].slowdown()) slowest = i;
    parts.push_back(fmt::format("{} takes {}, {} longer than alone", file.jobs[i].name, job_seconds(of.mean_s),
                                format_percent(of.slowdown())));
  }
  return {fmt::format("{}, {} jobs", cluster_text(file.cluster), file.jobs.size()),
          "An iteration of " +
              (all ? fmt::format("{}", fmt::join(parts, "; ")) : parts[slowest] + ", the most of all") + ".",
          "while all jobs run"};
}

Json jobs_json(const JobsFile& file, const JointSimulation& simulation, const NetworkUse& links) {
  Json out{{"together_s", simulation.together_s()},
           {"contended_links", simulation.joint.contended_links},
           {"events", simulation.timeline.events},
           {"jobs", Json::array()}};
  for (std::size_t i = 0; i < file.jobs.size(); ++i) {
    const NamedJob& job = file.jobs[i];
    const JobAmongOthers& of = simulation.jobs[i];
    out["jobs"].push_back({{"name", job.name},
                           {"nodes", nodes_text(job.nodes)},
                           {"gpus", job.job().cluster.gpus()},
                           {"unbound_s", unbound_iteration_s(simulation.alone[i])},
                           {"alone_s", of.alone.iteration_time_s},
                           {"mean_s", of.mean_s},
                           {"later_mean_s", of.later_mean_s},
                           {"least_s", of.least_s},
                           {"most_s", of.most_s},
                           {"slowdown", of.slowdown()},
                           {"iterations", of.iterations},
                           {"fits", of.alone.fits},
                           {"waiting_for_others", waiting_json(file, of)},
                           {"iteration", iteration_json(job.job(), of.together)},
                           {"slowed", slowed_json(links, i)}});
  }
  out["cluster"] = cluster_json(file, simulation);
  out["links"] = links_json(links);
  for (const std::string& note : jobs_notes(file, simulation)) out["notes"].push_back(note);
  return out;
}

}  // namespace mirfak

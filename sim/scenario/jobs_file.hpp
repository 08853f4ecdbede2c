#pragma once

#include "base/document.hpp"
#include "scenario/scenario.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// A job of several on one cluster.
struct NamedJob {
  std::string name;
  Scenario scenario;       // its job's cluster: the nodes that it has; Job::part says which these are
  std::vector<int> nodes;  // of the whole cluster, ascending
  double start_s = 0;      // when its first iteration begins

  const Job& job() const { return scenario.job; }
};

// A scenario of several jobs: `cluster`, `jobs`, `iterations` (sim/scenario/README.md).
struct JobsFile {
  std::string name;  // of the file
  std::string text;  // YAML: as read, overrides applied
  Cluster cluster;
  std::vector<NamedJob> jobs;
  int iterations = 0;              // at least, of each job while all others run
  std::vector<std::string> notes;  // of what is read and has no effect

  std::vector<std::string> names() const;  // of the jobs
};

bool has_jobs(const Document& document);  // whether it is one

// Error(input) for what cannot be understood, nodes that two jobs have, or of which there are not enough, and for
// perturbations of a job that are of the cluster's ranks, nodes or links; Error(infeasible) for a strategy that
// breaks a rule; at the place that is wrong.
JobsFile read_jobs(const Document& document, const ScenarioSources& sources);

// Notes what is read and has no effect on jobs beside each other: distributions of perturbations where nothing is
// sampled, and assertions.
void note_what_is_idle(JobsFile& file, bool sampled);

}  // namespace mirfak

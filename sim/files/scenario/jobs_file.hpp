#pragma once

#include "base/document.hpp"
#include "scenario/scenario.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// One of several jobs on one cluster.
struct NamedJob {
  std::string name;
  Scenario scenario;       // its job's cluster: the nodes of this job; Job::part maps them to the whole cluster
  std::vector<int> nodes;  // nodes of the whole cluster, ascending
  double start_s = 0;      // begin of its first iteration

  const Job& job() const { return scenario.job; }
};

// A scenario of several jobs: `cluster`, `jobs`, `iterations` (sim/files/scenario/README.md).
struct JobsFile {
  std::string name;  // name of the file
  std::string text;  // YAML as read, overrides applied
  Cluster cluster;
  std::vector<NamedJob> jobs;
  int iterations = 0;              // least iterations of each job while all other jobs run
  std::vector<std::string> notes;  // on what is read and has no effect

  std::vector<std::string> names() const;  // names of the jobs
};

bool has_jobs(const Document& document);  // true if it is a file of several jobs

// Reads a file of several jobs. Error(input) for anything that cannot be understood, and for perturbations of a job
// that belong to the cluster's ranks, nodes or links; Error(infeasible) for nodes that two jobs have or that do not
// exist, for too few free nodes, and for a strategy that breaks a rule; at the place of the fault.
JobsFile read_jobs(const Document& document, const ScenarioSources& sources);

// Adds notes on what is read and has no effect on jobs that run together: distributions of perturbations if nothing is
// sampled, and assertions.
void note_what_is_idle(JobsFile& file, bool sampled);

}  // namespace mirfak

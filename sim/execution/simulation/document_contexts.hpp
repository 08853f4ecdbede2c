#pragma once

#include "engine/execute.hpp"
#include "program/document_schedule.hpp"
#include "program/job.hpp"
#include "program/lowering.hpp"
#include "simulation/iteration.hpp"

#include <cstdint>
#include <vector>

namespace mirfak {

// Documents of one length that as many ranks run together: times are those of one document.
struct DocumentFigures {
  DocumentShape shape;
  std::int64_t documents = 0;
  double seconds = 0;            // forward and backward pass
  ActivitySeconds activity_s{};  // of a rank, in this time
  double memory_peak_bytes = 0;
};

// An iteration whose documents take as many context ranks as their lengths ask (strategy.context_tokens).
struct DocumentContexts {
  Job job;                              // with all documents
  std::vector<BatchDocuments> batch;    // longest first
  std::vector<DocumentFigures> shapes;  // longest first
  std::size_t rounds = 0;
  double busiest_s = 0;     // passes of the busiest ranks of each round, all rounds
  double mean_s = 0;        // passes of a rank on average
  double fixed_s = 0;       // what comes once: reduction of gradients that passes do not hide, optimizer step
  std::int64_t tokens = 0;  // of all documents
  bool alike = false;       // all documents have one length, and all ranks run as many
};

// Simulates an iteration with strategy.context_tokens. The documents of each length are simulated as a job of their
// own, with as many context ranks as they take:
//
//   iteration = sum over rounds of max over teams of sum of passes + what comes once
//   passes    time of 4 microbatches less that of 3, documents of one length
//   once      time of 1 microbatch less its passes, documents as those that end the last round
//
// A rank works for the mean of all teams, and waits for the busiest one (Activity::bubble). Documents of one length
// that divide evenly over ranks are that job, to the bit. Error(infeasible) where documents of some length cannot run.
Simulation simulate_documents(const Job& job, const LoweringOptions& options, Executor executor);

}  // namespace mirfak

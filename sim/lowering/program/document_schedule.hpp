#pragma once

#include "program/job.hpp"

#include <cstdint>
#include <vector>

namespace mirfak {

// Documents of one length in a batch.
struct BatchDocuments {
  std::int64_t tokens = 0;
  std::int64_t count = 0;
  double expected = 0;  // number by the length's share of the batch's tokens, before rounding

  friend bool operator==(const BatchDocuments&, const BatchDocuments&) = default;
};

// Returns the documents of one batch, longest first: training.documents in their proportions, cut at the ends of
// sequences, whole documents with the tokens of the batch together, or as close as the shortest allow. Sequences that
// are not packed are documents of their own.
std::vector<BatchDocuments> documents_of_batch(const TrainingSpec& training);

// Documents of one length that as many ranks run together.
struct DocumentShape {
  std::int64_t tokens = 0;
  int ranks = 1;

  friend bool operator==(const DocumentShape&, const DocumentShape&) = default;
  friend auto operator<=>(const DocumentShape&, const DocumentShape&) = default;
};

// Ranks that run documents together, one after the other.
struct DocumentTeam {
  int ranks = 1;
  std::vector<std::int64_t> tokens;  // of each document
};
// Teams that share all ranks. All wait for each other before the next round.
using DocumentRound = std::vector<DocumentTeam>;

// Least power of two of ranks that hold a document with at most `bound` tokens each.
int ranks_of_document(std::int64_t tokens, std::int64_t bound);

// Gives documents (longest first) to `ranks` ranks, a power of two that holds the longest, as Megatron Core's scheduler
// of hybrid context parallelism does (core_v0.16.1, pipeline_parallel/hybrid_cp_schedule.py): rounds whose teams have
// about as much to do each, by tokens^2 / ranks.
std::vector<DocumentRound> schedule_documents(const std::vector<BatchDocuments>& documents, std::int64_t bound,
                                              int ranks);

// Returns the job of `microbatches` microbatches in which all documents have this shape: each replica has the shape's
// ranks, and runs a document as a sequence, padded to equal parts of its ranks.
Job job_of_documents(const Job& job, const DocumentShape& shape, int microbatches);

}  // namespace mirfak

#pragma once

#include "model/adapters.hpp"
#include "strategy/local_steps.hpp"
#include "strategy/preferences.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mirfak {

enum class Optimizer {
  adam,
  adam_8bit,  // both moments of Adam in 8 bits, one scale per block of values (arXiv 2110.02861)
  adafactor,  // no first moment; row and column sums of the second moment (arXiv 1804.04235)
  lamb,       // Adam's state, and two norms per tensor (arXiv 1904.00962)
  sgd,        // SGD with momentum
  muon,       // orthogonalized momentum for each matrix of a layer, Adam for all else (arXiv 2502.16982)
  none,       // no step: forward and backward passes alone
};

// Parts of a layer that are captured once and replayed as CUDA graphs, so that the host issues one launch for all their
// kernels. Parts with data-dependent shapes (dispatch to experts) cannot be captured.
struct CudaGraphs {
  bool attention = false;
  bool mlp = false;        // dense MLP
  bool router = false;     // router of mixtures of experts
  bool iteration = false;  // all forward and backward passes as one graph

  bool any() const { return attention || mlp || router || iteration; }

  friend bool operator==(const CudaGraphs&, const CudaGraphs&) = default;
};

// Documents of one length among the documents that sequences are packed with.
struct DocumentCount {
  std::int64_t tokens = 0;
  double count = 1;  // number of documents, in any unit

  friend bool operator==(const DocumentCount&, const DocumentCount&) = default;
};

// Sequences that have one number of images among all sequences.
struct ImageCount {
  std::int64_t images = 0;
  double count = 1;  // number of sequences, in any unit

  friend bool operator==(const ImageCount&, const ImageCount&) = default;
};

// Images of sequences, in models with a tower for images.
struct SequenceImages {
  double mean = 1;                 // images of a sequence on average
  std::vector<ImageCount> counts;  // fewest images first; empty: all sequences have the mean

  bool drawn() const { return counts.size() > 1; }
  friend bool operator==(const SequenceImages&, const SequenceImages&) = default;
};

// Parts of a model with a tower for images that are not trained: they have no gradients, no optimizer state and no
// adapters.
struct FrozenParts {
  bool tower = false;      // patches and layers in front of the projector
  bool projector = false;  // from the tower's vectors to the width of words
  bool decoder = false;    // all else: words, layers, head

  bool any() const { return tower || projector || decoder; }
  friend bool operator==(const FrozenParts&, const FrozenParts&) = default;
};

// Optimizer states of matrices for their gradients' projections on a subspace of few dimensions (GaLore, arXiv
// 2403.03507).
struct LowRankGradients {
  int rank = 0;     // dimensions of the subspace; 0: states are for whole gradients
  int every = 200;  // steps between two searches for the subspace, each a singular value decomposition
  bool quantized_projectors = false;  // projectors are kept in a byte a value (Q-GaLore, arXiv 2407.08296)

  bool any() const { return rank > 0; }

  friend bool operator==(const LowRankGradients&, const LowRankGradients&) = default;
};

// Training setup: the batch, the number formats, the software.
struct TrainingSpec {
  std::int64_t global_batch = 0;     // samples per iteration: sequences, or preferences.answers of them each
  std::int64_t sequence_length = 0;  // tokens of a sequence
  // Documents that sequences are packed with, shortest first; empty: a sequence is one document.
  std::vector<DocumentCount> documents;
  SequenceImages images;
  std::string precision = "bf16";     // name of a PrecisionRecipe
  bool fp8_parameters = false;        // parameters of linear layers are kept and gathered in the narrow format
  bool fp8_attention = false;         // attention computes in 8 bits
  bool fp8_activation_input = false;  // backward keeps the input of an MLP's activation function in 8 bits
  CudaGraphs cuda_graphs;
  bool blocking_launches = false;  // CUDA_LAUNCH_BLOCKING=1: the host waits for the end of every kernel it launches
  LowRankAdapters adapters;        // fine-tuning of these adapters alone
  FrozenParts frozen;              // parts of the model that are not trained
  int loss_chunks = 0;             // chunks of tokens that head and loss run in; 0: as the framework does by itself
  double tokens = 0;               // tokens of the whole training; 0: not stated
  std::string framework;           // key for FrameworkCatalog: a name, an absolute path or a line of YAML
  std::string gradient_precision;  // precision of gradient reduction: bf16, fp16 or fp32; empty: the framework's
  Optimizer optimizer = Optimizer::adam;
  // Types of states that Adam and LAMB keep for each parameter: fp32, bf16, fp16 or fp8; main_parameters is the copy of
  // the parameters that the step updates.
  std::string first_moment = "fp32";
  std::string second_moment = "fp32";
  std::string main_parameters = "fp32";
  LowRankGradients low_rank_gradients;
  // Rows of an expert at most, as a multiple of the rows that it has where all experts have equally many; 0: no limit.
  double expert_capacity_factor = 0;
  bool pad_to_capacity = false;  // every expert has as many rows as its capacity allows, zeros among them
  LocalSteps local_steps;        // copies of the job that step apart
  Preferences preferences;

  // Tokens of so many samples.
  double tokens_of(std::int64_t samples) const {
    return static_cast<double>(samples * preferences.answers) * static_cast<double>(sequence_length);
  }
  // True if neither word embeddings nor head are trained.
  bool freezes_words() const {
    return frozen.decoder || (adapters.rank > 0 && !adapters.whole.embedding && !adapters.whole.head);
  }
  bool narrow_states() const { return first_moment != "fp32" || second_moment != "fp32" || main_parameters != "fp32"; }

  friend bool operator==(const TrainingSpec&, const TrainingSpec&) = default;
};

}  // namespace mirfak

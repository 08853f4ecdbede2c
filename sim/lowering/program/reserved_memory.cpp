// Why a job takes more than it allocates: a block that is freed between others serves only requests that fit into it.
// Example: 512 MB of activations are freed, moments of 200 MB take their place, and the next iteration's activations of
// 512 MB need a new segment: 712 MB are allocated then, and 1024 MB reserved.

#include "program/reserved_memory.hpp"

#include "base/made_once.hpp"
#include "program/caching_allocator.hpp"
#include "program/data_parallel.hpp"
#include "program/memory.hpp"
#include "program/optimizer_step.hpp"
#include "program/sharded_state.hpp"
#include "program/unit_memory.hpp"
#include "schedule/pass_timeline.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace mirfak {

// All that the replay of a stage depends on, but for what its blocks ask for, which the blocks and the framework say.
struct ReplayedStage {
  struct Block {
    BlockId block = 0;
    double gradients = 0;  // bytes of the gradients of its weights
    double forward = 0;    // bytes that come and go with the block (UnitMemory), as it runs forward
    double backward = 0;
    bool forward_only = false;  // of a pass that no backward pass follows
    friend auto operator<=>(const Block&, const Block&) = default;
  };
  struct Pass {
    bool forward = false;
    int chunk = 0;
    int microbatch = 0;
    friend auto operator<=>(const Pass&, const Pass&) = default;
  };

  ReplayedStage(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan);

  double capacity = 0;           // bytes that the allocator can take
  std::array<double, 6> held{};  // bytes that exist all the time, in the order in which they come
  double moments = 0;            // bytes that come with the first step
  double step = 0;               // bytes that come and go in each step
  double gradient_width = 0;     // bytes of an element
  bool frees_gradients = false;
  std::vector<std::vector<Block>> chunks;
  std::vector<Pass> passes;  // few microbatches, in their order

  friend auto operator<=>(const ReplayedStage&, const ReplayedStage&) = default;
};

namespace {

constexpr int kReplayed = 2;            // iterations
constexpr int kMoreThanInFlight = 2;    // microbatches beyond those in flight: until passes repeat
constexpr double kMaxPieces = 1.0 / 3;  // of a peak: what free pieces may take in addition
constexpr double kMomentBytes = 8;      // of a parameter's state, what the first step makes: two moments in fp32

using Block = CachingAllocator::Block;

// Blocks of the tensors of one walk that exist. Few exist at once, so a list is searched faster than a map.
class Live {
 public:
  // Returns the block of a tensor; -1: it does not exist.
  Block of(TensorId tensor) const {
    const auto found = find(tensor);
    return found == blocks_.end() ? -1 : found->second;
  }
  void add(TensorId tensor, Block block) { blocks_.emplace_back(tensor, block); }
  // Takes a tensor out and returns its block; -1: it does not exist.
  Block take(TensorId tensor) {
    const auto found = find(tensor);
    if (found == blocks_.end()) return -1;
    const Block block = found->second;
    blocks_[static_cast<std::size_t>(found - blocks_.begin())] = blocks_.back();
    blocks_.pop_back();
    return block;
  }
  const std::vector<std::pair<TensorId, Block>>& all() const { return blocks_; }

 private:
  std::vector<std::pair<TensorId, Block>>::const_iterator find(TensorId tensor) const {
    return std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& one) { return one.first == tensor; });
  }

  std::vector<std::pair<TensorId, Block>> blocks_;
};

// Blocks that several tensors of different walks may own: what leaves one block of the model and enters the next.
class OwnedBlocks {
 public:
  OwnedBlocks(bool expandable, double capacity) : allocator_(expandable, capacity) {}

  Block make(double bytes) {
    const Block block = allocator_.allocate(bytes);
    if (owners_.size() <= static_cast<std::size_t>(block)) owners_.resize(static_cast<std::size_t>(block) + 1);
    owners_[static_cast<std::size_t>(block)] = 1;
    return block;
  }
  Block share(Block block) {
    ++owners_[static_cast<std::size_t>(block)];
    return block;
  }
  void release(Block block) {
    if (--owners_[static_cast<std::size_t>(block)] == 0) allocator_.free(block);
  }
  void release(const Live& live) {
    for (const auto& [tensor, block] : live.all()) release(block);
  }
  // Takes bytes in tensors of at most `most` bytes, and frees them.
  void pass(double bytes, double most) {
    if (bytes <= most) return pass(bytes);
    std::vector<Block> taken;
    for (double left = bytes; left >= 1; left -= most) taken.push_back(make(std::min(left, most)));
    for (const Block block : taken) release(block);
  }
  void pass(double bytes) {
    if (bytes >= 1) allocator_.pass(bytes);
  }

  const CachingAllocator& allocator() const { return allocator_; }

 private:
  CachingAllocator allocator_;
  std::vector<int> owners_;
};

double capacity_of(const StagePlan& plan) {
  const NodeHardware& hardware = plan.costs.hardware->hardware;
  return hardware.gpu.memory_bytes.value / hardware.spec.ranks_per_gpu;
}

}  // namespace

ReplayedStage::ReplayedStage(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan)
    : step(step_workspace(job, plan)),
      gradient_width(gradient_bytes(job)),
      frees_gradients(job.framework.memory.frees_gradients && !data_parallel_plan(job).gathers_in_passes()) {
  const MemoryUse use = resident_memory(job, blocks, plan);
  const double workspace = job.framework.memory.workspace_bytes;
  capacity = capacity_of(plan) - use.platform + workspace;
  moments = use.optimizer * std::min(1.0, kMomentBytes / optimizer_bytes(job, plan.parameters));
  held = {workspace,         use.parameters, use.optimizer - moments,
          use.communication, use.gathered,   frees_gradients ? 0 : use.gradients};
  for (const ChunkPlan& chunk : plan.chunks) {
    std::vector<Block>& of = chunks.emplace_back();
    const std::vector<UnitMemory> units = unit_memory(job, chunk, plan.parameters.gathered_bytes_per_element);
    for (int i = 0; i < chunk.blocks(); ++i) {
      const UnitMemory unit = units.empty() ? UnitMemory() : units[static_cast<std::size_t>(i)];
      of.push_back({chunk.block(i), chunk.held_by(i).total() * gradient_width, unit.forward,
                    unit.backward + unit.reduced, chunk.forward_only(i)});
    }
  }
  const int microbatches = max_in_flight(plan.order) + kMoreThanInFlight;
  for (const mirfak::Pass& pass : plan.order) {
    if (pass.microbatch >= microbatches) continue;
    if (is_forward(pass.kind)) passes.push_back({true, pass.chunk, pass.microbatch});
    if (makes_input_gradient(pass.kind)) passes.push_back({false, pass.chunk, pass.microbatch});
  }
}

namespace {

class Replay {
 public:
  Replay(const Framework& framework, const ShardedBlocks& blocks, const ReplayedStage& stage)
      : framework_(framework),
        blocks_(blocks),
        stage_(stage),
        memory_(framework.memory.expandable_segments, stage.capacity),
        of_blocks_(blocks.all.size()) {}

  ReservedMemory run() {
    for (const double bytes : stage_.held) hold(bytes);
    for (int iteration = 0; iteration < kReplayed; ++iteration) {
      run_passes();
      if (iteration == 0) hold_in_pieces(stage_.moments);
      memory_.pass(stage_.step);
      for (const Block block : gradients_) memory_.release(block);
      gradients_.clear();
    }
    const CachingAllocator& allocator = memory_.allocator();
    return {static_cast<double>(allocator.peak_allocated()), static_cast<double>(allocator.peak_reserved()),
            static_cast<double>(allocator.needed()), stage_.capacity};
  }

 private:
  void hold(double bytes) {
    if (bytes > 0) memory_.make(bytes);
  }
  void hold_in_pieces(double bytes) {
    int pieces = 0;
    for (const auto& chunk : stage_.chunks) pieces += static_cast<int>(chunk.size());
    for (int piece = 0; piece < pieces; ++piece) hold(bytes / pieces);
  }

  void run_passes() {
    with_gradients_.clear();
    for (const ReplayedStage::Pass& pass : stage_.passes) pass.forward ? forward(pass) : backward(pass);
  }

  const BlockAllocations& allocations_of(BlockId block) {
    std::optional<BlockAllocations>& of = of_blocks_[static_cast<std::size_t>(block)];
    if (!of) {
      of = block_allocations(blocks_.all[static_cast<std::size_t>(block)], blocks_.mesh, framework_);
    }
    return *of;
  }

  // Gives the walk of a block the tensors that exist when it begins: those of the block before, or new ones.
  void enter(const std::vector<Allocation>& arriving, const std::vector<Block>& stream, Live& live) {
    for (std::size_t i = 0; i < arriving.size(); ++i) {
      const Block came = i < stream.size() ? stream[i] : -1;
      const bool wanted = arriving[i].tensor >= 0 && live.of(arriving[i].tensor) < 0;
      if (wanted) live.add(arriving[i].tensor, came >= 0 ? came : memory_.make(arriving[i].bytes));
      if (!wanted && came >= 0) memory_.release(came);
    }
    for (std::size_t i = arriving.size(); i < stream.size(); ++i) {
      if (stream[i] >= 0) memory_.release(stream[i]);
    }
  }
  // Releases what no block takes: it leaves the chunk.
  void drop(const std::vector<Block>& stream) {
    for (const Block block : stream) {
      if (block >= 0) memory_.release(block);
    }
  }

  void walk(const std::vector<Allocation>& events, Live& live) {
    for (const Allocation& event : events) {
      if (event.tensor == Allocation::kBuffer) {
        memory_.pass(event.bytes, event.most);
      } else if (event.bytes > 0) {
        live.add(event.tensor, memory_.make(event.bytes));
      } else if (const Block gone = live.take(event.tensor); gone >= 0) {
        memory_.release(gone);
      }
    }
  }

  std::vector<Block> leave(const std::vector<TensorId>& leaving, const Live& live) {
    std::vector<Block> stream;
    for (const TensorId tensor : leaving) {
      const Block block = live.of(tensor);
      stream.push_back(block < 0 ? -1 : memory_.share(block));
    }
    return stream;
  }

  const std::vector<ReplayedStage::Block>& chunk_of(const ReplayedStage::Pass& pass) const {
    return stage_.chunks[static_cast<std::size_t>(pass.chunk)];
  }

  void forward(const ReplayedStage::Pass& pass) {
    const std::vector<ReplayedStage::Block>& chunk = chunk_of(pass);
    std::vector<Live>& kept = kept_[{pass.chunk, pass.microbatch}];
    kept.assign(chunk.size(), {});
    std::vector<Block> stream;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      const BlockAllocations& of = allocations_of(chunk[i].block);
      const Block gathered = chunk[i].forward > 0 ? memory_.make(chunk[i].forward) : -1;
      Live live;
      enter(of.inputs, stream, live);
      walk(of.forward, live);
      stream = leave(of.outputs, live);
      for (const TensorId tensor : of.kept) {
        const Block block = live.of(tensor);
        if (block >= 0) kept[i].add(tensor, memory_.share(block));
      }
      memory_.release(live);
      if (gathered >= 0) memory_.release(gathered);
    }
    drop(stream);
  }

  void backward(const ReplayedStage::Pass& pass) {
    const std::vector<ReplayedStage::Block>& chunk = chunk_of(pass);
    std::vector<Live>& kept = kept_.at({pass.chunk, pass.microbatch});
    std::vector<Block> stream;
    for (std::size_t i = chunk.size(); i-- > 0;) {
      if (chunk[i].forward_only) continue;
      const BlockAllocations& of = allocations_of(chunk[i].block);
      const Block gathered = chunk[i].backward > 0 ? memory_.make(chunk[i].backward) : -1;
      Live live = std::move(kept[i]);
      enter(of.output_gradients, stream, live);
      walk(of.backward, live);
      stream = leave(of.input_gradients, live);
      memory_.release(live);
      if (gathered >= 0) memory_.release(gathered);
      add_gradients(chunk[i], with_gradients_.emplace(pass.chunk, i).second);
    }
    drop(stream);
    kept_.erase({pass.chunk, pass.microbatch});
  }

  // Gradients of weights come with the first backward pass of a block, one for each of its products; later ones are
  // added to them.
  void add_gradients(const ReplayedStage::Block& of, bool first) {
    if (!stage_.frees_gradients) return;
    const auto& shapes = blocks_.weight_gradients[static_cast<std::size_t>(of.block)];
    double left = of.gradients;
    for (std::size_t i = 0; left >= 1; ++i) {
      const double one =
          shapes.empty() ? left
                         : shapes[i % shapes.size()].first * shapes[i % shapes.size()].second * stage_.gradient_width;
      const double bytes = one > 0 ? std::min(left, one) : left;
      if (first) {
        gradients_.push_back(memory_.make(bytes));
      } else {
        memory_.pass(bytes);
      }
      left -= bytes;
    }
  }

  const Framework& framework_;
  const ShardedBlocks& blocks_;
  const ReplayedStage& stage_;
  OwnedBlocks memory_;
  std::vector<std::optional<BlockAllocations>> of_blocks_;
  std::map<std::pair<int, int>, std::vector<Live>> kept_;  // by chunk and microbatch: of each block
  std::set<std::pair<int, std::size_t>> with_gradients_;   // by chunk and block
  std::vector<Block> gradients_;
};

bool have_same_blocks(const StagePlan& a, const StagePlan& b) {
  const auto same_run = [](const BlockRun& one, const BlockRun& other) {
    return one.block == other.block && one.count == other.count;
  };
  return std::equal(a.chunks.begin(), a.chunks.end(), b.chunks.begin(), b.chunks.end(),
                    [&](const ChunkPlan& one, const ChunkPlan& other) {
                      return std::equal(one.runs.begin(), one.runs.end(), other.runs.begin(), other.runs.end(),
                                        same_run);
                    });
}

}  // namespace

struct KnownReplays::Replays {
  MadeOnce<ReplayedStage, ReservedMemory> of;
};

KnownReplays::KnownReplays() : replays_(std::make_unique<Replays>()) {}
KnownReplays::~KnownReplays() = default;

std::optional<ReservedMemory> reserved_memory(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan,
                                              KnownReplays* known) {
  const Strategy& strategy = job.strategy;
  const bool in_groups = strategy.recompute_method == RecomputeMethod::uniform && strategy.recompute_layers > 1;
  if (!job.framework.memory.caching_allocator || in_groups || strategy.offload_layers > 0 ||
      strategy.offload_modules.any() || strategy.expert_stash > 0) {
    return std::nullopt;
  }
  const ReplayedStage stage(job, blocks, plan);
  const auto run = [&] { return Replay(job.framework, blocks, stage).run(); };
  return known == nullptr ? run() : known->replays_->of.get(stage, run);
}

std::optional<ReservedMemory> reserve_of(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan,
                                         const StageMemory& counted, KnownReplays* known) {
  auto out = reserved_memory(job_at(job, blocks, plan.stage), blocks.at(plan.stage), plan, known);
  if (!out) return out;
  const double beyond =
      counted.peak.total() - counted.peak.platform + job.framework.memory.workspace_bytes - out->allocated;
  out->allocated += beyond;
  out->reserved += beyond;
  out->needed += beyond;
  return out;
}

void add_reserves(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> stages,
                  std::span<StageMemory> memory, KnownReplays* known) {
  if (!job.framework.memory.caching_allocator) return;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (memory[i].peak.total() * (1 + kMaxPieces) <= memory[i].capacity) continue;
    bool fullest = true;
    for (std::size_t other = 0; other < stages.size() && fullest; ++other) {
      const bool fuller = std::pair(memory[other].peak.total(), i) > std::pair(memory[i].peak.total(), other);
      fullest = !(fuller && memory[other].capacity == memory[i].capacity && have_same_blocks(stages[other], stages[i]));
    }
    if (fullest) memory[i].allocator = reserve_of(job, blocks, stages[i], memory[i], known);
  }
}

}  // namespace mirfak

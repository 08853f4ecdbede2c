// Why a job takes more than it allocates: a block that is freed between others serves only requests that fit into it.
// Example: 512 MB of activations are freed, moments of 200 MB take their place, and the next iteration's activations of
// 512 MB need a new segment: 712 MB are allocated then, and 1024 MB reserved.

#include "program/reserved_memory.hpp"

#include "program/caching_allocator.hpp"
#include "program/data_parallel.hpp"
#include "program/memory.hpp"
#include "program/optimizer_step.hpp"
#include "program/sharded_state.hpp"
#include "program/unit_memory.hpp"
#include "schedule/pass_timeline.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace mirfak {

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
    std::vector<Block> taken;
    for (double left = bytes; left >= 1; left -= most) taken.push_back(make(std::min(left, most)));
    for (const Block block : taken) release(block);
  }
  void pass(double bytes) { pass(bytes, bytes); }

  const CachingAllocator& allocator() const { return allocator_; }

 private:
  CachingAllocator allocator_;
  std::vector<int> owners_;
};

class Replay {
 public:
  Replay(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan)
      : job_(job),
        blocks_(blocks),
        plan_(plan),
        use_(resident_memory(job, blocks, plan)),
        frees_gradients_(job.framework.memory.frees_gradients && !data_parallel_plan(job).gathers_in_passes()),
        capacity_(capacity_of(plan) - use_.platform + job.framework.memory.workspace_bytes),
        memory_(job.framework.memory.expandable_segments, capacity_),
        of_blocks_(blocks.all.size()) {
    for (const ChunkPlan& chunk : plan.chunks) {
      units_.push_back(unit_memory(job, chunk, plan.parameters.gathered_bytes_per_element));
    }
  }

  ReservedMemory run() {
    const double moments = use_.optimizer * std::min(1.0, kMomentBytes / optimizer_bytes(job_, plan_.parameters));
    hold(job_.framework.memory.workspace_bytes);
    for (const double bytes : {use_.parameters, use_.optimizer - moments, use_.communication, use_.gathered})
      hold(bytes);
    if (!frees_gradients_) hold(use_.gradients);
    for (int iteration = 0; iteration < kReplayed; ++iteration) {
      run_passes();
      if (iteration == 0) hold_in_pieces(moments);
      memory_.pass(step_workspace(job_, plan_));
      for (const Block block : gradients_) memory_.release(block);
      gradients_.clear();
    }
    const CachingAllocator& allocator = memory_.allocator();
    return {static_cast<double>(allocator.peak_allocated()), static_cast<double>(allocator.peak_reserved()),
            static_cast<double>(allocator.needed()), capacity_};
  }

 private:
  static double capacity_of(const StagePlan& plan) {
    const NodeHardware& hardware = plan.costs.hardware->hardware;
    return hardware.gpu.memory_bytes.value / hardware.spec.ranks_per_gpu;
  }

  void hold(double bytes) {
    if (bytes > 0) memory_.make(bytes);
  }
  void hold_in_pieces(double bytes) {
    int pieces = 0;
    for (const ChunkPlan& chunk : plan_.chunks) pieces += chunk.blocks();
    for (int piece = 0; piece < pieces; ++piece) hold(bytes / pieces);
  }

  void run_passes() {
    const int microbatches = max_in_flight(plan_.order) + kMoreThanInFlight;
    with_gradients_.clear();
    for (const Pass& pass : plan_.order) {
      if (pass.microbatch >= microbatches) continue;
      if (is_forward(pass.kind)) forward(pass);
      if (makes_input_gradient(pass.kind)) backward(pass);
    }
  }

  const BlockAllocations& allocations_of(BlockId block) {
    std::optional<BlockAllocations>& of = of_blocks_[static_cast<std::size_t>(block)];
    if (!of) {
      of = block_allocations(blocks_.all[static_cast<std::size_t>(block)], blocks_.mesh, job_.framework);
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

  void forward(const Pass& pass) {
    const ChunkPlan& chunk = plan_.chunks[static_cast<std::size_t>(pass.chunk)];
    std::vector<Live>& kept = kept_[{pass.chunk, pass.microbatch}];
    kept.assign(static_cast<std::size_t>(chunk.blocks()), {});
    std::vector<Block> stream;
    for (int i = 0; i < chunk.blocks(); ++i) {
      const BlockAllocations& of = allocations_of(chunk.block(i));
      const UnitMemory unit = unit_of(pass.chunk, i);
      const Block gathered = unit.forward > 0 ? memory_.make(unit.forward) : -1;
      Live live;
      enter(of.inputs, stream, live);
      walk(of.forward, live);
      stream = leave(of.outputs, live);
      for (const TensorId tensor : of.kept) {
        const Block block = live.of(tensor);
        if (block >= 0) kept[static_cast<std::size_t>(i)].add(tensor, memory_.share(block));
      }
      memory_.release(live);
      if (gathered >= 0) memory_.release(gathered);
    }
    drop(stream);
  }

  void backward(const Pass& pass) {
    const ChunkPlan& chunk = plan_.chunks[static_cast<std::size_t>(pass.chunk)];
    std::vector<Live>& kept = kept_.at({pass.chunk, pass.microbatch});
    std::vector<Block> stream;
    for (int i = chunk.blocks() - 1; i >= 0; --i) {
      const BlockAllocations& of = allocations_of(chunk.block(i));
      const UnitMemory unit = unit_of(pass.chunk, i);
      const Block gathered = unit.backward + unit.reduced > 0 ? memory_.make(unit.backward + unit.reduced) : -1;
      Live live = std::move(kept[static_cast<std::size_t>(i)]);
      enter(of.output_gradients, stream, live);
      walk(of.backward, live);
      stream = leave(of.input_gradients, live);
      memory_.release(live);
      if (gathered >= 0) memory_.release(gathered);
      add_gradients(pass.chunk, i, chunk);
    }
    drop(stream);
    kept_.erase({pass.chunk, pass.microbatch});
  }

  UnitMemory unit_of(int chunk, int block) const {
    const std::vector<UnitMemory>& units = units_[static_cast<std::size_t>(chunk)];
    return units.empty() ? UnitMemory() : units[static_cast<std::size_t>(block)];
  }

  // Gradients of weights come with the first backward pass of a block, one for each of its products; later ones are
  // added to them.
  void add_gradients(int chunk, int block, const ChunkPlan& plan) {
    if (!frees_gradients_) return;
    const bool first = with_gradients_.emplace(chunk, block).second;
    const double width = gradient_bytes(job_);
    const auto& shapes = blocks_.weight_gradients[static_cast<std::size_t>(plan.block(block))];
    double left = plan.held_by(block).total() * width;
    for (std::size_t i = 0; left >= 1; ++i) {
      const double one =
          shapes.empty() ? left : shapes[i % shapes.size()].first * shapes[i % shapes.size()].second * width;
      const double bytes = one > 0 ? std::min(left, one) : left;
      if (first) {
        gradients_.push_back(memory_.make(bytes));
      } else {
        memory_.pass(bytes);
      }
      left -= bytes;
    }
  }

  const Job& job_;
  const ShardedBlocks& blocks_;
  const StagePlan& plan_;
  const MemoryUse use_;
  const bool frees_gradients_;
  const double capacity_;  // bytes that the allocator can take
  OwnedBlocks memory_;
  std::vector<std::optional<BlockAllocations>> of_blocks_;
  std::vector<std::vector<UnitMemory>> units_;             // by chunk
  std::map<std::pair<int, int>, std::vector<Live>> kept_;  // by chunk and microbatch: of each block
  std::set<std::pair<int, int>> with_gradients_;           // by chunk and block
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

std::optional<ReservedMemory> reserved_memory(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan) {
  const Strategy& strategy = job.strategy;
  const bool in_groups = strategy.recompute_method == RecomputeMethod::uniform && strategy.recompute_layers > 1;
  if (!job.framework.memory.caching_allocator || in_groups || strategy.offload_layers > 0 ||
      strategy.offload_modules.any()) {
    return std::nullopt;
  }
  return Replay(job, blocks, plan).run();
}

std::optional<ReservedMemory> reserve_of(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan,
                                         const StageMemory& counted) {
  auto out = reserved_memory(job_at(job, blocks, plan.stage), blocks.at(plan.stage), plan);
  if (!out) return out;
  const double beyond =
      counted.peak.total() - counted.peak.platform + job.framework.memory.workspace_bytes - out->allocated;
  out->allocated += beyond;
  out->reserved += beyond;
  out->needed += beyond;
  return out;
}

void add_reserves(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> stages,
                  std::span<StageMemory> memory) {
  if (!job.framework.memory.caching_allocator) return;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (memory[i].peak.total() * (1 + kMaxPieces) <= memory[i].capacity) continue;
    bool fullest = true;
    for (std::size_t other = 0; other < stages.size() && fullest; ++other) {
      const bool fuller = std::pair(memory[other].peak.total(), i) > std::pair(memory[i].peak.total(), other);
      fullest = !(fuller && memory[other].capacity == memory[i].capacity && have_same_blocks(stages[other], stages[i]));
    }
    if (fullest) memory[i].allocator = reserve_of(job, blocks, stages[i], memory[i]);
  }
}

}  // namespace mirfak

// Memory by phase on one H100, FSDP2 of PyTorch 2.11 (validate/measured): a forward pass begins with parameters and
// optimizer state alone. The peak is either where the loss makes the gradient of the logits, when all activations exist
// and no gradient of a weight does, or at the end, when all gradients exist, and those of embedding and head also in
// the buffer that is reduced.

#include "program/unit_memory.hpp"

#include "program/data_parallel.hpp"
#include "program/pass_parts.hpp"
#include "program/sharded_state.hpp"

#include <algorithm>

namespace mirfak {

namespace {

// Gathers the next block's parameters while a block runs, so two blocks are whole at once.
void add_gathered(const Job& job, const ChunkPlan& chunk, double width, std::vector<UnitMemory>& units) {
  const auto count = units.size();
  const std::vector<PassPart> parts = split_pass(job, chunk, Pass::Kind::forward);
  double root = 0;
  std::vector<double> whole(count, 0);
  for (const PassPart& part : parts) {
    const auto block = static_cast<std::size_t>(part.first);
    const bool kept = job.framework.sharding.root_unit && !chunk.is_layer(part.first);
    (kept ? root : whole[block]) += part.gathers.total() * width;
  }
  for (std::size_t i = 0; i < count; ++i) {
    units[i].forward = root + whole[i] + (i + 1 < count ? whole[i + 1] : 0);
    if (!chunk.forward_only(static_cast<int>(i))) units[i].backward = root + whole[i] + (i > 0 ? whole[i - 1] : 0);
  }
}

// A block's gradients have the precision of its products. If they are reduced in another precision, they are copied,
// and the buffer of the previous block is freed after this block's buffer is made.
void add_reduced(const Job& job, const ChunkPlan& chunk, std::vector<UnitMemory>& units) {
  const double narrow = bytes_per_element(job.precision());
  const double buffer = gradient_bytes(job) == narrow ? 0 : gradient_bytes(job);
  double before = 0;
  for (const PassPart& part : split_pass(job, chunk, Pass::Kind::backward)) {
    const double elements = part.reduces.total();
    UnitMemory& unit = units[units.size() - static_cast<std::size_t>(part.last)];
    unit.reduced = elements * narrow + std::max(before, elements) * buffer;
    before = elements;
    if (gradients_come_and_go(job)) unit.gradients = held_gradients(job, part.reduces);
  }
}

// Registered buffers stay where they are: two for the parameters and two for the gradients of the largest layer serve
// all layers in turn (megatron_fsdp/param_and_grad_buffer.py, FixedPoolAllocator of 2).
void keep_buffers(const Job& job, const ChunkPlan& chunk, double width, std::vector<UnitMemory>& units) {
  double gathered = 0;
  double reduced = 0;
  double root = 0;
  for (const PassPart& part : split_pass(job, chunk, Pass::Kind::forward)) {
    const bool kept = job.framework.sharding.root_unit && !chunk.is_layer(part.first);
    if (kept) root += part.gathers.total();
    if (chunk.is_layer(part.first)) gathered = std::max(gathered, part.gathers.total());
  }
  for (const PassPart& part : split_pass(job, chunk, Pass::Kind::backward)) {
    if (chunk.is_layer(chunk.blocks() - part.last)) reduced = std::max(reduced, part.reduces.total());
  }
  const double held = 2 * reduced * gradient_bytes(job);
  const double narrow =
      gradient_bytes(job) == bytes_per_element(job.precision()) ? 0 : bytes_per_element(job.precision());
  for (UnitMemory& unit : units) {
    unit.forward = std::max(unit.forward, root * width + 2 * gathered * width) + held;
    unit.backward = std::max(unit.backward, root * width + 2 * gathered * width) + held;
    unit.reduced = narrow > 0 ? std::min(unit.reduced, reduced * narrow) : 0;
  }
}

// Registered buffers come from a pool of their own, which keeps what it once gave out: the most that is gathered at a
// time, and the largest buffer that is reduced from (pytorch/pytorch@010ae4a8 torch/distributed/fsdp/_fully_shard/
// _fsdp_collectives.py, SymmMemAllocMixin). Gradients that are copied into this buffer are ordinary memory.
void keep_pool(const Job& job, const ChunkPlan& chunk, std::vector<UnitMemory>& units) {
  const double narrow = bytes_per_element(job.precision());
  const double buffer = gradient_bytes(job) == narrow ? 0 : gradient_bytes(job);
  double reduced = 0;
  double gathered = 0;
  for (const UnitMemory& unit : units) gathered = std::max({gathered, unit.forward, unit.backward});
  for (const PassPart& part : split_pass(job, chunk, Pass::Kind::backward)) {
    reduced = std::max(reduced, part.reduces.total());
    units[units.size() - static_cast<std::size_t>(part.last)].reduced = part.reduces.total() * narrow;
  }
  for (UnitMemory& unit : units) unit.forward = unit.backward = gathered + reduced * buffer;
}

}  // namespace

bool gathers_by_blocks(const Job& job) {
  return data_parallel_plan(job).gathers_in_passes() && job.framework.sharding.reuse_parameters == 0 &&
         !job.strategy.divides_weights();
}

bool gradients_come_and_go(const Job& job) {
  const Strategy& strategy = job.strategy;
  return job.framework.memory.frees_gradients && strategy.pipeline == 1 && strategy.virtual_pipeline == 1 &&
         !schedule_of(strategy.schedule).splits && microbatches(strategy, job.training) == 1;
}

std::vector<UnitMemory> unit_memory(const Job& job, const ChunkPlan& chunk, double width) {
  const bool by_blocks = gathers_by_blocks(job);
  if (!by_blocks && !gradients_come_and_go(job)) return {};
  std::vector<UnitMemory> units(static_cast<std::size_t>(chunk.blocks()));
  if (!by_blocks) {
    for (int i = 0; i < chunk.blocks(); ++i) {
      units[static_cast<std::size_t>(i)].gradients = held_gradients(job, chunk.held_by(i));
    }
    return units;
  }
  // Parameters that stay whole until the backward pass is over are counted with the state.
  if (data_parallel_plan(job).gather == DataParallelPlan::Gather::every_pass) add_gathered(job, chunk, width, units);
  add_reduced(job, chunk, units);
  if (!job.strategy.registered_buffers) return units;
  if (job.framework.sharding.registered_apart) {
    keep_pool(job, chunk, units);
  } else {
    keep_buffers(job, chunk, width, units);
  }
  return units;
}

}  // namespace mirfak

#pragma once

#include "alpa/block_plan.hpp"
#include "alpa/logical_mesh.hpp"
#include "program/blocks_of_job.hpp"

#include <optional>
#include <vector>

namespace mirfak::alpa {

// Choices that the integer programs of a model's blocks have on a logical mesh. Streams lie in the same way at all
// borders of blocks: rows divide sequences and, with sequence parallelism, columns divide tokens.
enum class Freedom {
  // Divisions that a strategy with tensor = columns and data = rows expresses: rows divide the sequences of operators,
  // columns divide the axes of tensor parallelism, and either or both divide experts. No device is idle.
  expressible,
  experts_whole,  // as expressible, but each device has all experts
  any,
};

// Plan of one kind of block, as the integer program counts it.
struct PlannedBlock {
  Cost cost;  // for a microbatch, forward and backward, with its part of the iteration's reductions
  bool proven = true;
};

// The fastest shardings of all blocks of a job on a logical mesh.
struct MeshPlan {
  bool possible = false;             // every block has a plan
  std::vector<PlannedBlock> blocks;  // by BlockId
  int expert = 1;                    // number of devices that divide the experts of a mixture
  int programs = 0;

  // Returns the seconds of a row of blocks. `counts`: number of blocks of each BlockId.
  double seconds(const std::vector<int>& counts) const;
};

// Job, blocks, costs and mesh for which the blocks of a stage are planned.
struct MeshSite {
  const Job& job;               // with the sizes of the mesh, as if one stage were the whole job
  const ShardedBlocks& blocks;  // blocks of the job with any sharding: only their graphs matter
  const StageCosts& costs;
  const LogicalMesh& mesh;
};

// Limits of a plan: no block may need more bytes than in `plan` with `in_flight` microbatches in flight, and the solver
// has `solver_s` for each block.
struct WithinPlan {
  const MeshPlan& plan;
  int in_flight = 1;
  double solver_s = 5;
};

MeshPlan plan_mesh(const MeshSite& site, Freedom freedom, const std::optional<WithinPlan>& within = {});

}  // namespace mirfak::alpa

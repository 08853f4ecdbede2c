#pragma once

#include "alpa/block_plan.hpp"
#include "alpa/logical_mesh.hpp"
#include "program/blocks_of_job.hpp"

#include <optional>
#include <vector>

namespace mirfak::alpa {

// What the integer programs of a model's blocks may choose on a logical mesh. Streams lie alike wherever blocks meet:
// sequences divided by the rows, with sequence parallelism tokens by the columns.
enum class Freedom {
  // What a strategy says with tensor = columns and data = rows: operators divide sequences by the rows and by the
  // columns what tensor parallelism divides; experts by one of the two or both. No device is idle.
  expressible,
  experts_whole,  // the same, but each device has all experts
  any,
};

// Of one kind of block, by the integer program's count.
struct PlannedBlock {
  Cost cost;  // of a microbatch, forward and backward, with its part of the iteration's reductions
  bool proven = true;
};

// The fastest shardings of all blocks of a job on a logical mesh.
struct MeshPlan {
  bool possible = false;             // every block has one
  std::vector<PlannedBlock> blocks;  // by BlockId
  int expert = 1;                    // devices that divide the experts of a mixture
  int programs = 0;

  // Blocks in a row: how many of each BlockId.
  double seconds(const std::vector<int>& counts) const;
};

// Where the blocks of a stage are planned.
struct MeshSite {
  const Job& job;               // with the sizes of the mesh, as if one stage were all of it
  const ShardedBlocks& blocks;  // of the job, sharded in whatever way: only their graphs matter
  const StageCosts& costs;
  const LogicalMesh& mesh;
};

// What a plan may use: no block more bytes than in another plan, with so many microbatches in flight; so long may the
// solver look for each block.
struct WithinPlan {
  const MeshPlan& plan;
  int in_flight = 1;
  double solver_s = 5;
};

MeshPlan plan_mesh(const MeshSite& site, Freedom freedom, const std::optional<WithinPlan>& within = {});

}  // namespace mirfak::alpa

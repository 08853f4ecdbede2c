#pragma once

#include "alpa/planning_choice.hpp"
#include "alpa/stage_partition.hpp"
#include "plan/search.hpp"

#include <cstdint>
#include <vector>

namespace mirfak::alpa {

// Which of Alpa's two levels may divide the work.
enum class Levels {
  both,
  intra_only,  // no pipeline: all devices are one stage
  inter_only,  // each stage is one device
};

// A stage of a plan.
struct ModelStage {
  int first = 0;  // layer
  int end = 0;
  Submesh submesh;
  int rows = 1;  // of the logical mesh: replicas
  int columns = 1;
  StageShape shape;
  int in_flight = 1;     // microbatches whose activations it keeps under 1F1B
  StageOption cost;      // as its profile counts it
  double program_s = 0;  // of a microbatch, by the count of the integer programs
};

// A strategy that the two levels found, not yet executed.
struct ModelPlan {
  Strategy strategy;
  double estimate_s = 0;  // of an iteration, by the dynamic program
  std::vector<ModelStage> stages;
  bool equal = false;  // found among stages of one submesh and shape alone
};

// How much work planning was.
struct PlanningEffort {
  std::int64_t choices = 0;     // of what stages have in common
  std::int64_t meshes = 0;      // logical meshes of submeshes, by choice
  std::int64_t programs = 0;    // integer programs
  std::int64_t partitions = 0;  // dynamic programs
  double programs_s = 0;        // processor time of integer programs, sharding and pricing included
  double partitions_s = 0;

  PlanningEffort& operator+=(const PlanningEffort& other);
};

struct ModelPlans {
  std::vector<ModelPlan> plans;  // by estimate; no two have the same strategy
  PlanningEffort effort;
  bool complete = true;  // else it was stopped
};

// Joins the two levels (arXiv 2201.12023, sections 4 and 5). For everything that stages have in common
// (PlanningChoice): on each logical mesh of each submesh the integer program plans the model's blocks, each kind once;
// the stages that follow are profiled; the dynamic program divides layers and devices. Of each choice and stage of ZeRO
// the best partition, where it may win, and the best of those whose stages are alike.
//
// Stages are what strategies express (Freedom::expressible). The cluster has nodes of one type: Error(infeasible).
ModelPlans plan_model(const Job& job, const SearchSpec& spec, Levels levels, int threads = 0,
                      const SearchStop& stop = {});

}  // namespace mirfak::alpa

#pragma once

#include "alpa/planning_choice.hpp"
#include "alpa/stage_partition.hpp"
#include "plan/search.hpp"

#include <cstdint>
#include <vector>

namespace mirfak::alpa {

// Levels of Alpa that may divide the work.
enum class Levels {
  both,
  intra_only,  // no pipeline: all devices are one stage
  inter_only,  // each stage is one device
};

// A stage of a plan.
struct ModelStage {
  int first = 0;  // first layer
  int end = 0;
  Submesh submesh;
  int rows = 1;  // rows of the logical mesh: replicas
  int columns = 1;
  StageShape shape;
  int in_flight = 1;     // number of microbatches whose activations the stage keeps under 1F1B
  StageOption cost;      // as the stage's profile counts it
  double program_s = 0;  // seconds of a microbatch, as the integer programs count them
};

// A strategy that the two levels found, not yet executed.
struct ModelPlan {
  Strategy strategy;
  double estimate_s = 0;  // seconds of an iteration, by the dynamic program
  std::vector<ModelStage> stages;
  bool equal = false;  // found among partitions into stages of one submesh and shape
};

// Amount of work that planning took.
struct PlanningEffort {
  std::int64_t choices = 0;     // number of PlanningChoices
  std::int64_t meshes = 0;      // logical meshes of submeshes, for each choice
  std::int64_t programs = 0;    // number of integer programs
  std::int64_t partitions = 0;  // number of dynamic programs
  double programs_s = 0;        // processor time of integer programs, with sharding and pricing
  double partitions_s = 0;

  PlanningEffort& operator+=(const PlanningEffort& other);
};

struct ModelPlans {
  std::vector<ModelPlan> plans;  // ordered by estimate; no two have the same strategy
  PlanningEffort effort;
  bool complete = true;  // false: planning was stopped
};

// Joins the two levels (arXiv 2201.12023, sections 4 and 5). For everything that stages have in common
// (PlanningChoice): on each logical mesh of each submesh the integer program plans the model's blocks, each kind once;
// the resulting stages are profiled; the dynamic program divides layers and devices. For each choice and stage of ZeRO
// the result has the best partition, if it may win, and the best of those whose stages are alike.
//
// Stages are limited to those that strategies express (Freedom::expressible). Error(infeasible) unless the cluster has
// nodes of one type.
ModelPlans plan_model(const Job& job, const SearchSpec& spec, Levels levels, int threads = 0,
                      const SearchStop& stop = {});

}  // namespace mirfak::alpa

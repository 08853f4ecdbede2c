#pragma once

#include "plan/layout.hpp"
#include "plan/layout_bound.hpp"
#include "plan/shared_blocks.hpp"
#include "plan/state_choice.hpp"
#include "plan/work_division.hpp"
#include "program/memory_limit.hpp"

#include <memory>
#include <span>
#include <vector>

namespace mirfak {

// All strategies that share a layout and a choice of blocks: one branch of the search tree, bounded as if its work
// could be divided at will. A ListedBranch knows its pipelines too, and a PricedBranch also its blocks and prices.
class Branch {
 public:
  // Takes layout and blocks from `strategy` and the rest from `space`. The energy is bounded too if `energy` asks for
  // it; else the energy bound is 0. `limit`: what its strategies may use of memory.
  Branch(std::shared_ptr<const LayoutCosts> layout, const Strategy& strategy, const StrategySpace& space,
         SharedBlocks& shared, const EnergyAsked& energy, const MemoryLimit& limit = {});

  const Job& job() const { return job_; }
  // Job as one stage sees it, if stages have shapes of their own (Job::at); else job().
  const Job& job_at(int stage) const { return shaped() ? jobs_[shape_of(stage)] : job_; }
  // Ranks of a stage per replica of its class (LayoutCosts::classes).
  double ranks_per_replica(int stage) const {
    return static_cast<double>(job_.strategy.ranks_of(stage)) / job_.strategy.data;
  }
  const LayoutCosts& layout() const { return *layout_; }
  const MemoryLimit& limit() const { return limit_; }
  PipelineShape shape(const PipelineChoice& choice, int replica_class) const;

  // Lower bound of the iteration time of all strategies of the branch.
  Picoseconds bound() const { return bound_; }
  // Lower bound of the energy of all strategies of the branch above that of waiting, over all ranks.
  double min_energy_j() const { return min_energy_j_; }
  // Places that share the branch's microbatches (work_division.hpp), and the number of these microbatches.
  std::span<const WorkPlace> work_places() const { return work_places_; }
  double microbatches() const {
    const std::int64_t whole = job_.training.global_batch / job_.strategy.micro_batch;
    return static_cast<double>(whole);
  }
  // Returns false if no strategy of the branch can fit in memory. `choices`: all state choices that its strategies can
  // have.
  bool may_fit(std::span<const StateChoice> choices, SharedBlocks& shared) const;
  // Returns the least that a strategy of the branch lacks, if none can fit.
  Lack least_lack(std::span<const StateChoice> choices, SharedBlocks& shared) const;

 protected:
  bool shaped() const { return !job_.strategy.stages.empty(); }  // stages have shapes of their own
  std::size_t shape_of(int stage) const {
    return static_cast<std::size_t>(layout_->shape_of[static_cast<std::size_t>(stage)]);
  }
  // Stage of a place; a place numbers a stage and a class of replicas (LayoutCosts).
  int stage_of(std::size_t place) const { return static_cast<int>(place) / layout_->count(); }
  std::size_t kind_of(std::size_t place) const { return static_cast<std::size_t>(layout_->kind_of[place]); }

  std::shared_ptr<const LayoutCosts> layout_;
  Job job_;
  EnergyAsked energy_;
  std::vector<Job> jobs_;                                              // for each shape, if stages have their own
  std::vector<std::shared_ptr<const LayerBound::Terms>> layer_terms_;  // for each kind, with nothing recomputed
  std::vector<std::shared_ptr<const std::vector<int>>> shares_;        // ways to share the microbatches
  bool plain_;                                                         // all pipelines are plain (PipelineChoice)
  Picoseconds bound_ = 0;

 private:
  // Room of the stages of one class of replicas.
  struct ClassRoom {
    std::vector<StageRoom> stages;
    std::vector<double> capacities;  // of each stage's devices, without what software takes whatever the model
    int microbatches = 0;
  };
  void bound_at_will(const StrategySpace& space, SharedBlocks& shared);
  std::vector<ClassRoom> rooms(std::span<const StateChoice> choices, SharedBlocks& shared) const;

  MemoryLimit limit_;
  std::vector<WorkPlace> work_places_;
  double min_energy_j_ = 0;
};

}  // namespace mirfak

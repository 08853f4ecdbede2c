#include "program/job.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

Precision precision_named(const std::string& name) {
  const std::vector<std::string>& names = precision_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) fail_internal("no precision is called '" + name + "'");
  return static_cast<Precision>(found - names.begin());
}

}  // namespace

const PrecisionRecipe& Job::recipe() const {
  const PrecisionRecipe* found = find_precision_recipe(training.precision);
  if (found == nullptr) {
    fail_input({}, fmt::format("training.precision: unknown precision '{}'", training.precision));
  }
  return *found;
}

Precision Job::precision() const { return precision_named(recipe().activations); }
Precision Job::product_precision() const { return precision_named(recipe().products); }

std::vector<int> Job::group_over(int stage, MeshAxisSet axes) const {
  const DeviceMesh mesh = mesh_of(strategy);
  const auto places = [&](MeshAxis axis) { return axes.contains(axis) ? mesh.size(axis) : 1; };
  std::vector<int> ranks;
  for (int data = 0; data < places(MeshAxis::data); ++data) {
    for (int expert = 0; expert < places(MeshAxis::expert); ++expert) {
      for (int context = 0; context < places(MeshAxis::context); ++context) {
        for (int tensor = 0; tensor < places(MeshAxis::tensor); ++tensor) {
          ranks.push_back(rank_of(stage, data * mesh.expert + expert, context * strategy.tensor + tensor));
        }
      }
    }
  }
  return ranks;
}

std::vector<int> Job::tensor_group(int stage) const { return group_over(stage, {MeshAxis::tensor}); }

std::vector<int> Job::context_group(int stage) const { return group_over(stage, {MeshAxis::context}); }

std::vector<int> Job::data_group(int stage) const {
  return group_over(stage, {MeshAxis::data, MeshAxis::expert, MeshAxis::context});
}

std::vector<int> Job::expert_data_group(int stage) const {
  const MeshAxisSet experts = expert_axes(strategy);
  MeshAxisSet axes(MeshAxis::data);
  if (!experts.contains(MeshAxis::context)) axes.insert(MeshAxis::context);
  return group_over(stage, axes);
}

std::vector<int> Job::shard_group(int stage) const {
  std::vector<int> ranks = data_group(stage);
  ranks.resize(static_cast<std::size_t>(strategy.shards()));
  return ranks;
}

std::vector<int> Job::across_group(int stage) const {
  const std::vector<int> all = data_group(stage);
  std::vector<int> ranks;
  for (std::size_t i = 0; i < all.size(); i += static_cast<std::size_t>(strategy.shards())) ranks.push_back(all[i]);
  return ranks;
}

const NodeGroup& Job::hardware_of(int stage) const {
  const int first = rank_of(stage, 0, 0);
  const int last = rank_of(stage, strategy.data - 1, strategy.team() - 1);
  const int group = cluster.place_of(first).group;
  if (cluster.place_of(last).group != group) {
    fail_infeasible(
        {},
        fmt::format("cluster.nodes: the {} ranks of pipeline stage {} lie on {} and {}", last - first + 1, stage,
                    cluster.group_of(first).hardware.spec.name, cluster.group_of(last).hardware.spec.name),
        "choose node counts or strategy.pipeline so that each stage has one type of GPU");
  }
  return cluster.groups()[static_cast<std::size_t>(group)];
}

double gradient_bytes(const Job& job) {
  if (!job.training.gradient_precision.empty()) return job.training.gradient_precision == "fp32" ? 4 : 2;
  switch (job.precision()) {
    case Precision::fp16:
      return job.framework.gradient_bytes_fp16;
    case Precision::fp32:
    case Precision::tf32:
      return 4;
    default:
      return job.framework.gradient_bytes;
  }
}

}  // namespace mirfak

// Scripts that start a program on all nodes by torchrun. Rank r of the prediction runs on device r of the cluster, with
// nodes in the order of cluster.nodes: a node's rank is stated, not determined by the order of arrival, and nodes of
// several types are components of a heterogeneous Slurm job, whose ranks follow one another.

#include "launch/launch_targets.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

namespace mirfak {

namespace {

// Consecutive nodes of one type.
struct NodeRow {
  std::string type;
  int nodes = 0;
  int gpus = 0;    // GPUs per node
  int domain = 1;  // nodes whose GPUs reach each other without the network
};

std::vector<NodeRow> rows_of(const Cluster& cluster) {
  std::vector<NodeRow> out;
  for (const NodeGroup& group : cluster.groups()) {
    const NodeSpec& spec = group.hardware.spec;
    if (group.nodes() == 0) continue;
    require_expressible(spec.ranks_per_gpu == 1, "cluster.nodes", "these launchers start one process for each GPU",
                        "leave ranks_per_gpu out");
    if (!out.empty() && out.back().type == spec.name && out.back().gpus == spec.gpus) {
      out.back().nodes += group.count;
    } else {
      out.push_back({spec.name, group.count, spec.gpus, std::max(1, spec.scale_up_domain / std::max(1, spec.gpus))});
    }
  }
  return out;
}

int nodes_of(const std::vector<NodeRow>& rows) {
  int out = 0;
  for (const NodeRow& row : rows) out += row.nodes;
  return out;
}

bool same_gpus(const std::vector<NodeRow>& rows) {
  return std::all_of(rows.begin(), rows.end(), [&](const NodeRow& row) { return row.gpus == rows.front().gpus; });
}

std::string arguments_array(const LaunchProgram& program) {
  return fmt::format("arguments=(\n{})\n", shell_lines(program.options, "  "));
}

std::string exports(const LaunchProgram& program, const Job& job) {
  std::string out;
  for (const auto& [name, value] : program.environment) out += fmt::format("export {}={}\n", name, value);
  if (job.training.blocking_launches) out += "export CUDA_LAUNCH_BLOCKING=1\n";
  return out;
}

// Returns the node ranks of each type: "nodes 0 to 3: hgx-h100".
std::vector<std::string> node_comments(const std::vector<NodeRow>& rows) {
  std::vector<std::string> out;
  int first = 0;
  for (const NodeRow& row : rows) {
    const int last = first + row.nodes - 1;
    out.push_back(first == last ? fmt::format("node {}: {}", first, row.type)
                                : fmt::format("nodes {} to {}: {}", first, last, row.type));
    first = last + 1;
  }
  return out;
}

// Returns "torchrun ... pretrain_gpt.py" without the program's options, or the same of accelerate, whose configuration
// states nodes and processes.
std::string starter(const LaunchProgram& program, const std::string& nodes, const std::string& gpus,
                    std::string_view rank) {
  if (!program.accelerated.empty()) {
    return fmt::format(
        "accelerate launch --config_file {} --machine_rank \"${}\" --main_process_ip \"$MASTER_ADDR\" "
        "--main_process_port \"$MASTER_PORT\" {}",
        program.accelerated, rank, fmt::join(program.start, " "));
  }
  return fmt::format(
      "torchrun --nnodes {} --nproc-per-node {} --node-rank \"${}\" --master-addr \"$MASTER_ADDR\" --master-port "
      "\"$MASTER_PORT\" {}",
      nodes, gpus, rank, fmt::join(program.start, " "));
}

std::string torchrun_script(const LaunchProgram& program, const Job& job, const std::vector<NodeRow>& rows) {
  require_expressible(same_gpus(rows), "cluster.nodes",
                      "a script that is the same on all nodes starts as many processes on each",
                      "choose --launcher slurm, or nodes of as many GPUs");
  std::vector<std::string> comments = program.comments;
  comments.emplace_back("to be run on each node, with its number in NODE_RANK and the name of node 0 in MASTER_ADDR");
  for (std::string& comment : node_comments(rows)) comments.push_back(std::move(comment));
  return "#!/bin/bash\n" + comment_lines(comments) + exports(program, job) +
         "export MASTER_PORT=${MASTER_PORT:-29500}\n" + arguments_array(program) +
         starter(program, std::to_string(nodes_of(rows)), std::to_string(rows.front().gpus), "NODE_RANK") +
         " \"${arguments[@]}\"\n";
}

std::string resources(const NodeRow& row, bool one_of_several) {
  std::string out =
      fmt::format("#SBATCH --nodes={}\n#SBATCH --exclusive\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node={}\n",
                  row.nodes, row.gpus);
  const int segment = std::min(row.domain, row.nodes);
  if (segment > 1 && row.nodes % segment == 0) out += fmt::format("#SBATCH --segment={}\n", segment);
  if (one_of_several) out += fmt::format("#SBATCH --constraint={}\n", row.type);
  return out;
}

std::string slurm_script(const LaunchProgram& program, const Job& job, const std::vector<NodeRow>& rows) {
  const bool several = rows.size() > 1;
  std::string out = "#!/bin/bash\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0) out += "#SBATCH hetjob\n";
    out += resources(rows[i], several);
  }
  std::vector<std::string> comments = program.comments;
  for (std::string& comment : node_comments(rows)) comments.push_back(std::move(comment));
  if (several) comments.emplace_back("--constraint names features of nodes: those of the site where these are others");
  const std::string_view first = several ? "SLURM_JOB_NODELIST_HET_GROUP_0" : "SLURM_JOB_NODELIST";
  const std::string gpus = same_gpus(rows) ? std::to_string(rows.front().gpus) : "\"$SLURM_GPUS_ON_NODE\"";
  const std::string groups = several ? fmt::format(" --het-group=0-{}", rows.size() - 1) : "";
  out += comment_lines(comments) + exports(program, job);
  out += fmt::format("export MASTER_ADDR=$(scontrol show hostnames \"${}\" | head -n 1)\n", first);
  out += "export MASTER_PORT=${MASTER_PORT:-29500}\n" + arguments_array(program);
  // A node's single task starts processes for all GPUs, which share its processors.
  out += fmt::format("srun{} --cpu-bind=none bash -c '{} \"$@\"' launch \"${{arguments[@]}}\"\n", groups,
                     starter(program, std::to_string(nodes_of(rows)), gpus, "SLURM_PROCID"));
  return out;
}

}  // namespace

std::string_view launch_script_name(Launcher launcher) {
  return launcher == Launcher::slurm ? "launch.sbatch" : "launch.sh";
}

LaunchFile launch_script(const LaunchProgram& program, const Job& job, Launcher launcher) {
  const std::vector<NodeRow> rows = rows_of(job.cluster);
  return {std::string(launch_script_name(launcher)),
          launcher == Launcher::slurm ? slurm_script(program, job, rows) : torchrun_script(program, job, rows)};
}

}  // namespace mirfak

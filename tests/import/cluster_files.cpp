// A cluster in the documented layouts of schedulers and clouds becomes the nodes of a launch; and
// whatever else stands there is refused at its place.

#include "import/cluster_facts.hpp"
#include "import/imported_job.hpp"
#include "import/slurm_nodes.hpp"
#include "launch_files.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>

namespace cluster_files_test {

using namespace mirfak;

namespace {

constexpr const char* kModel =
    " --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 "
    "--tensor-model-parallel-size 2 --micro-batch-size 1 --global-batch-size 4608 --bf16 --lr 1e-4\n";

ImportFile launch(const std::string& lines, const std::string& launcher = "srun python pretrain_gpt.py") {
  return {"train.sh", "#!/bin/bash\n" + lines + launcher + kModel};
}

ImportedJob on_cluster(const ImportFile& script, std::vector<ImportFile> cluster,
                       const std::vector<std::string>& nodes = {}, const std::string& format = {}) {
  cluster.insert(cluster.begin(), script);
  ImportRequest request;
  request.format = format;
  for (const std::string& node : nodes) request.nodes.push_back(node_choice(node));
  return import_job(cluster, request, ImportContext{import_sources()});
}

std::string nodes_of(const ImportedJob& job) { return said(job.draft, "cluster.nodes"); }

std::string obstacle_of(const ImportedJob& job) {
  CHECK_FALSE(job.complete);
  if (job.draft.obstacles().empty()) return "";
  const ImportObstacle& first = job.draft.obstacles().front();
  return first.where.text() + ": " + first.reason;
}

bool is_noted(const ImportedJob& job, const std::string& text) {
  for (const ImportObstacle& note : job.draft.notes) {
    if ((note.where.text() + ": " + note.reason).find(text) != std::string::npos) return true;
  }
  return false;
}

std::string refusal_of(const ImportFile& file, const std::string& format = {}) {
  try {
    read_cluster_files({&file, 1}, format);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.where().text() + ": " + error.message();
  }
  return "accepted";
}

const ImportFile kTable{"sinfo.txt",
                        "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
                        "big*         up   infinite      1 drain* h05\n"
                        "big*         up   infinite      4    mix h[01-04]\n"
                        "all          up 7-00:00:00      1 drain* h05\n"
                        "all          up 7-00:00:00      6   idle h[01-04],v[1-2]\n"
                        "later        up   infinite      0    n/a \n"};
const ImportFile kNames{"names.txt",
                        "Thu Nov 26 10:00:00 2026\n"
                        "HOSTNAMES PARTITION GRES STATE\n"
                        "h01 big* gpu:h100:8(S:0-1) idle\n"
                        "h02 big* gpu:h100:8(S:0-1) mixed\n"
                        "h03 big* gpu:h100:8(S:0,1),nvme:2 idle~\n"
                        "h04 big* gpu:h100:8 down\n"
                        "v1 small gpu:nvidia_h200:8 idle\n"
                        "c1 small (null) idle\n"};
const ImportFile kNodes{"nodes.txt",
                        "NodeName=h01 Arch=x86_64 CoresPerSocket=48\n"
                        "   CPUAlloc=0 CPUTot=192 CPULoad=0.10\n"
                        "   AvailableFeatures=sxm ActiveFeatures=sxm\n"
                        "   Gres=gpu:nvidia_h100_80gb_hbm3:8(S:0-1)\n"
                        "   OS=Linux 6.1 #1 SMP\n"
                        "   RealMemory=2000000 Sockets=2 State=IDLE+CLOUD+POWERED_DOWN\n"
                        "   Partitions=big,all\n"
                        "\n"
                        "NodeName=h02 CPUTot=192 Gres=gpu:nvidia_h100_80gb_hbm3:8 RealMemory=2000000 State=MIXED+DRAIN "
                        "Partitions=big Reason=fan State=IDLE NodeName=h09\n"
                        "NodeName=h03 CPUTot=192 Gres=gpu:nvidia_h100_80gb_hbm3:8 RealMemory=2000000 State=ALLOCATED "
                        "Partitions=big\n"};

ImportFile task(const std::string& resources, int nodes = 4) {
  return {"task.yaml",
          fmt::format("name: a\nresources:\n{}num_nodes: {}\nrun: |\n  torchrun t.py\n", resources, nodes)};
}

// A matrix of a node whose pairs of GPUs are joined as `cell` says.
ImportFile matrix(int gpus, const std::string& cell, int ports) {
  std::string text = "\t\x1b[4mGPU0";
  for (int i = 1; i < gpus; ++i) text += fmt::format("\tGPU{}", i);
  for (int i = 0; i < ports; ++i) text += fmt::format("\tNIC{}", i);
  text += "\tCPU Affinity\tNUMA Affinity\x1b[0m\n";
  for (int row = 0; row < gpus; ++row) {
    text += fmt::format("GPU{}", row);
    for (int i = 0; i < gpus; ++i) text += "\t" + (i == row ? " X " : cell);
    for (int i = 0; i < ports; ++i) text += "\tPXB";
    text += "\t0-47\t0\n";
  }
  return {"topo.txt", text + "\nLegend:\n  X = Self\n"};
}

}  // namespace

TEST_CASE("each kind of file is known by what it holds, and none is taken for a launch file") {
  const std::vector<std::pair<ImportFile, std::string>> files = {{kTable, "slurm-sinfo"},
                                                                 {kNames, "slurm-sinfo"},
                                                                 {kNodes, "slurm-nodes"},
                                                                 {task("  accelerators: H100:8\n"), "skypilot-yaml"},
                                                                 {matrix(8, "NV18", 8), "nvidia-topology"}};
  for (const auto& known : files) {
    CAPTURE(known.second);
    REQUIRE(cluster_format_of(known.first) != nullptr);
    CHECK(cluster_format_of(known.first)->name == known.second);
    CHECK(formats_of(known.first).empty());
  }
  CHECK(cluster_format_of(launch("")) == nullptr);
  CHECK(cluster_format_of({"s.yaml", "model: gpt3-1.3b\ncluster: {nodes: [{type: hgx-h100, count: 1}]}\n"}) == nullptr);
}

TEST_CASE("sinfo's nodes: as many as the launch asks for, of its partition, in states in which jobs run") {
  const ImportedJob asked = on_cluster(launch("#SBATCH --nodes=2\n#SBATCH --partition=big\n"), {kNames});
  CHECK(asked.complete);
  CHECK(nodes_of(asked) == "[{type: hgx-h100, count: 2}]");
  CHECK(asked.draft.origins().at("cluster.nodes") ==
        "assumed: names.txt:3:10: gpu:h100:8(S:0-1): 3 nodes that can be used, 2 asked for");
  CHECK(is_noted(asked, "names.txt:6:10: not counted: 1 node that cannot be used, down"));
  CHECK(is_noted(asked, "names.txt:8:10: not counted: 1 node without GPUs"));
  const Value& nodes = *asked.scenario.root().find("cluster")->find("nodes");
  CHECK(nodes.where.text() == "names.txt:3:10");

  CHECK(nodes_of(on_cluster(launch("#SBATCH -p big\n"), {kNames})) == "[{type: hgx-h100, count: 3}]");
  CHECK(nodes_of(on_cluster(launch("#SBATCH --gres=gpu:h100:8\n"), {kNames})) == "[{type: hgx-h100, count: 3}]");
  CHECK(nodes_of(on_cluster(launch("#SBATCH --partition=small\n"), {kNames})) == "[{type: hgx-h200, count: 1}]");
}

TEST_CASE("what the cluster cannot give, or leaves open, is said with its place and --nodes as the remedy") {
  const std::string several = obstacle_of(on_cluster(launch("#SBATCH --nodes=1\n"), {kNames}));
  CHECK(several ==
        "names.txt:3:10: which nodes the launch gets is not known, as the cluster has 3 nodes of 8 h100 "
        "(names.txt:3:10), 1 node of 8 nvidia_h200 (names.txt:7:10): say --nodes TYPE:1");
  CHECK(obstacle_of(on_cluster(launch("#SBATCH --nodes=9\n#SBATCH -p big\n"), {kNames}))
            .starts_with("names.txt:3:10: the launch asks for 9 nodes, of which 3 can be used: say --nodes TYPE:9"));
  CHECK(obstacle_of(on_cluster(launch("#SBATCH --gres=gpu:h100:4\n"), {kNames}))
            .find("nodes of 4 h100; the cluster has") != std::string::npos);
  CHECK(obstacle_of(on_cluster(launch("#SBATCH --nodes=2\n"), {kTable})).find("nor their GPUs are stated") !=
        std::string::npos);
  CHECK(obstacle_of(on_cluster(launch("#SBATCH -p none\n"), {kNames})).find("in partition none") != std::string::npos);
  CHECK(nodes_of(on_cluster(launch("#SBATCH --nodes=9\n"), {kNames}, {"hgx-h200:9"})) ==
        "[{type: hgx-h200, count: 9}]");
}

TEST_CASE("parts of a heterogeneous job share the cluster") {
  const std::string parts =
      "#SBATCH --nodes=2\n#SBATCH --partition=small,big\n#SBATCH --gres=gpu:h100:8\n#SBATCH hetjob\n";
  CHECK(nodes_of(on_cluster(launch(parts + "#SBATCH --nodes=1\n#SBATCH --gres=gpu:h200:8\n"), {kNames})) ==
        "[{type: hgx-h100, count: 2}, {type: hgx-h200, count: 1}]");
  const std::string more =
      obstacle_of(on_cluster(launch(parts + "#SBATCH --nodes=2\n#SBATCH --gres=gpu:h100:8\n"), {kNames}));
  CHECK(more.find("ask for 4 nodes of hgx-h100, of which 3 can be used") != std::string::npos);
}

TEST_CASE("the default table counts each node once, and other files say what it has") {
  const ImportedJob job = on_cluster(launch("#SBATCH --gres=gpu:h100:8\n#SBATCH -p big\n"), {kTable});
  CHECK(nodes_of(job) == "[{type: hgx-h100, count: 4}]");
  CHECK(is_noted(job, "sinfo.txt:2:1: not counted: 1 node that cannot be used, drain*"));
  const ImportedJob both = on_cluster(launch(""), {kTable, kNodes});
  CHECK(nodes_of(both) == "[{type: hgx-h100, count: 2}]");
}

TEST_CASE("scontrol's nodes, in blocks and on a line each") {
  const ImportedJob job = on_cluster(launch("#SBATCH -p big\n"), {kNodes});
  CHECK(nodes_of(job) == "[{type: hgx-h100, count: 2}]");
  CHECK(is_noted(job, "not counted: 1 node that cannot be used, MIXED+DRAIN"));
  ClusterFacts facts = read_cluster_files({&kNodes, 1}, "");
  REQUIRE(facts.listed().size() == 3);
  CHECK(facts.listed()[0].where.text() == "nodes.txt:4:4");
  CHECK(facts.listed()[0].partitions == std::set<std::string>{"all", "big"});
}

TEST_CASE("states and generic resources of Slurm") {
  for (const char* state : {"idle", "mix", "alloc", "comp", "idle~", "idle#", "IDLE", "MIXED+PLANNED", "mix-", "idle@",
                            "IDLE+CLOUD+POWERED_DOWN", "resv"})
    CHECK_MESSAGE(is_usable_state(state), state);
  for (const char* state : {"", "down", "drain", "drng", "idle*", "maint", "idle$", "IDLE+DRAIN", "DOWN+NOT_RESPONDING",
                            "fail", "unk", "n/a", "IDLE+", "inval", "FUTURE", "drain~"})
    CHECK_FALSE_MESSAGE(is_usable_state(state), state);
  CHECK(slurm_gpus("gpu:h100:8(S:0,1),shard:32", {}).count == 8);
  CHECK(slurm_gpus("gpu:4(S:0)", {}).name.empty());
  CHECK(slurm_gpus("gpu", {}).count == 1);
  CHECK(slurm_gpus("gpu:a100:2,gpu:a100_3g.20gb:4", {}).several);
  CHECK(slurm_gpus("(null)", {}).count == 0);
  CHECK_THROWS_AS(slurm_gpus("gpu:h100:8(S:0-", {}), Error);
  CHECK_THROWS_AS(slurm_gpus("gpu:h100:many", {}), Error);
}

TEST_CASE("a SkyPilot task says its machines by instance, or by cloud and GPU") {
  const auto nodes = [](const std::string& resources) { return nodes_of(on_cluster(launch(""), {task(resources)})); };
  CHECK(nodes("  instance_type: p5.48xlarge\n") == "[{type: aws-p5, count: 4}]");
  CHECK(nodes("  infra: azure/eastus\n  instance_type: Standard_ND96isr_H100_v5\n") ==
        "[{type: azure-nd-h100-v5, count: 4}]");
  CHECK(nodes("  cloud: aws\n  accelerators: {A100: 8}\n") == "[{type: aws-p4d, count: 4}]");
  CHECK(nodes("  infra: k8s\n  accelerators: H100:8\n") == "[{type: hgx-h100, count: 4}]");
  CHECK(nodes("  accelerators: H100:8\n  ordered:\n    - infra: aws/us-east-1\n    - infra: gcp\n") ==
        "[{type: aws-p5, count: 4}]");
  const ImportedJob counted = on_cluster(
      launch("", "torchrun --nnodes $SKYPILOT_NUM_NODES --nproc_per_node $SKYPILOT_NUM_GPUS_PER_NODE pretrain_gpt.py"),
      {task("  infra: aws\n  accelerators: H100:8\n", 2)});
  CHECK(counted.complete);
  CHECK(nodes_of(counted) == "[{type: aws-p5, count: 2}]");
}

TEST_CASE("a SkyPilot task that leaves its machines open") {
  const auto why = [](const std::string& resources) { return obstacle_of(on_cluster(launch(""), {task(resources)})); };
  CHECK(why("  any_of:\n    - infra: aws\n    - infra: gcp\n  accelerators: H100:8\n")
            .starts_with("task.yaml:3:3: any_of"));
  CHECK(why("  accelerators: [H100:8, A100:8]\n").starts_with("task.yaml:3:17: accelerators"));
  const std::string google = why("  infra: gcp\n  accelerators: H100:8\n");
  CHECK(google.find("TYPE is gcp-a3-high or gcp-a3-mega") != std::string::npos);
  CHECK(why("  infra: aws\n  instance_type: p9.huge\n").find("no type of node") != std::string::npos);
  CHECK(obstacle_of(on_cluster(launch("#SBATCH --nodes=2\n"), {task("  instance_type: p5.48xlarge\n")}))
            .find("the task has 4 nodes, and the launch asks for 2") != std::string::npos);
}

TEST_CASE("nvidia-smi's matrix chooses among types of node, and is checked against the one that is chosen") {
  const ImportFile four = launch("#SBATCH --nodes=4\n");
  const std::string open = obstacle_of(on_cluster(four, {matrix(8, "NV12", 8)}));
  CHECK(open.starts_with("topo.txt:1:"));
  CHECK(open.find("dgx-a100-80g") != std::string::npos);
  CHECK(open.find("hgx-h100") == std::string::npos);
  CHECK(nodes_of(on_cluster(launch("#SBATCH --nodes=4\n#SBATCH --gres=gpu:h100:8\n"), {matrix(8, "NV18", 8)})) ==
        "[{type: hgx-h100, count: 4}]");
  // Both are A100 of 80 GB: the links tell those in SXM from the one in PCI Express, and the ports these from each
  // other.
  const ImportFile unclear{"names.txt", "HOSTNAMES|GRES|STATE\nn1|gpu:a100-80gb:8|idle\n"};
  CHECK(obstacle_of(on_cluster(launch(""), {unclear})).find("a100-pcie-8, dgx-a100-80g or jean-zay-a100") !=
        std::string::npos);
  CHECK(nodes_of(on_cluster(launch(""), {unclear, matrix(8, "NV12", 8)})) == "[{type: dgx-a100-80g, count: 1}]");
  CHECK(nodes_of(on_cluster(launch(""), {unclear, matrix(8, "SYS", 1)})) == "[{type: a100-pcie-8, count: 1}]");
  const ImportedJob other = on_cluster(four, {matrix(8, "SYS", 2)}, {"hgx-h100:4"});
  CHECK(is_noted(other, "NVLink joins no two GPUs, where it joins all GPUs of hgx-h100"));
  CHECK(is_noted(other, "2 network ports, where hgx-h100 has 8"));
}

TEST_CASE("what is cut, doubled or contradicts itself is refused at its place") {
  CHECK(refusal_of({"s", "HOSTNAMES GRES STATE\nn1 gpu:h100:8(S:0- idle\n"}).starts_with("s:2:4: "));
  CHECK(refusal_of({"s", "HOSTNAMES GRES STATE\nn1 idle\n"}).starts_with("s:2:1: sinfo: 2 words below 3 columns"));
  CHECK(refusal_of({"s", "PARTITION NODES GRES\np 4 gpu:8\n"}).find("several partitions") != std::string::npos);
  CHECK(refusal_of({"s", "PARTITION AVAIL TIMELIMIT NODES(A/I/O/T) NODELIST\np up 1:00 1/1/0/2 n[1-2]\n"})
            .find("a summary") != std::string::npos);
  CHECK(refusal_of({"s", "NODELIST STATE\nn[1-9999999] idle\n"}).starts_with("s:2:1: "));
  CHECK(refusal_of({"s", "NODELIST STATE\nn[1-200000] idle\n"}).find("more than 100000 nodes") != std::string::npos);
  CHECK(refusal_of({"s", "HOSTNAMES GRES\nn1 gpu:8\nn1 gpu:4\n"}).find("has other GPUs at s:2:4") != std::string::npos);
  CHECK(refusal_of({"s", "NodeName=a CPUAlloc=0 Gres=gpu:8\n"}).find("has no State=") != std::string::npos);
  CHECK(refusal_of({"t", "\tGPU0\tGPU1\nGPU0\tX\tNV4\n"}).starts_with("t:1:7: no line of GPU1"));
  CHECK(refusal_of({"t", "\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV2\tX\n"}).find("joined otherwise") != std::string::npos);
  CHECK(refusal_of({"t", "\tGPU0\tGPU1\nGPU0\tX\tNV0\n"}).starts_with("t:2:8: 'NV0'"));
  CHECK(refusal_of({"s", "HOSTNAMES GRES STATE\n"}) == "s:1:1: no node stands there");
  CHECK(refusal_of({"u", "nothing\n"}).starts_with("u:1:1: not a file that says"));
  CHECK(refusal_of({"u", "nothing\n"}, "slurm-sinfo").find("names of columns") != std::string::npos);
  CHECK_THROWS_AS(on_cluster(kNames, {}), Error);
}

TEST_CASE("files with bytes changed at random end as facts or as a refusal with a place") {
  std::mt19937 random(19);
  const std::vector<ImportFile> files = {kTable, kNames, kNodes, task("  infra: aws\n  accelerators: {H100: 8}\n"),
                                         matrix(4, "NV6", 2)};
  constexpr std::string_view bytes = "\n\t |,:=[]()-*XNVG0189a\x1b\xff";
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    ImportFile file = files[static_cast<std::size_t>(round) % files.size()];
    const std::string name(cluster_format_of(file)->name);
    for (int change = 0; change < 3; ++change) {
      const std::size_t at = random() % file.text.size();
      const char byte = bytes[random() % bytes.size()];
      if (random() % 3 == 0) file.text.erase(at, 1 + random() % 9);
      if (file.text.empty()) break;
      file.text[std::min(at, file.text.size() - 1)] = byte;
    }
    try {
      on_cluster(launch(""), {file}, {}, name);
    } catch (const Error& error) {
      REQUIRE(error.kind() == ErrorKind::input);
      CHECK(error.where().known());
      ++refused;
    }
  }
  CHECK(refused > 100);
  CHECK(refused < 4000);
}

TEST_CASE("a pipeline of tasks: the documents that ask for machines say which, where they agree") {
  const std::string head = "name: pipeline\n---\n";
  const std::string train = "name: train\nnum_nodes: 2\nresources:\n  infra: aws\n  accelerators: H100:8\n";
  const std::string prepare = "---\nname: prepare\nresources:\n  cpus: 4\n";
  const ImportFile one{"pipeline.yaml", head + train + prepare};
  REQUIRE(cluster_format_of(one) != nullptr);
  CHECK(cluster_format_of(one)->name == "skypilot-yaml");
  const std::string alone = nodes_of(on_cluster(launch(""), {{"task.yaml", train}}));
  CHECK_FALSE(alone.empty());
  CHECK(nodes_of(on_cluster(launch(""), {one})) == alone);
  CHECK(nodes_of(on_cluster(launch(""), {{"twice.yaml", head + train + "---\n" + train}})) == alone);
  const std::string other = "---\nname: eval\nresources:\n  infra: aws\n  accelerators: A100:8\n";
  CHECK(obstacle_of(on_cluster(launch(""), {{"two.yaml", head + train + other}})).find("a second task") !=
        std::string::npos);
}

}  // namespace cluster_files_test

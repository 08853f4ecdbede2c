// A launch script on the nodes that a cluster's own tools print: the same job as on nodes that the command names.

#include "program.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace mirfak::test;

namespace cluster_files_test {

namespace {

void write_files(const ScratchFolder& folder) {
  folder.write("train.sh",
               "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --partition=big\nsrun python pretrain_gpt.py --num-layers 8 "
               "--hidden-size 2048 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 "
               "--micro-batch-size 2 --global-batch-size 64 --bf16 --tensor-model-parallel-size 2\n");
  folder.write("sinfo.txt",
               "HOSTNAMES PARTITION GRES STATE\n"
               "n1 big* gpu:h100:8(S:0-1) idle\nn2 big* gpu:h100:8(S:0-1) mix\nn3 big* gpu:h100:8(S:0-1) drain\n"
               "n4 old gpu:h200:8 idle\n");
}

nlohmann::json printed(const ScratchFolder& folder, std::vector<std::string> words) {
  words.insert(words.end(), {"--format", "json"});
  const Finished finished = run({words, folder.path()});
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  return nlohmann::json::parse(finished.out);
}

}  // namespace

TEST_CASE("what sinfo prints is the cluster of a launch script, for import and for simulate") {
  const ScratchFolder folder;
  write_files(folder);
  const nlohmann::json imported = printed(folder, {"import", "train.sh", "sinfo.txt"});
  CHECK(imported.at("complete") == true);
  CHECK(imported.at("scenario").at("cluster").at("nodes").dump() == R"([{"count":2,"type":"hgx-h100"}])");
  bool noted = false;
  for (const auto& note : imported.at("notes")) noted = noted || note.dump().find("drain") != std::string::npos;
  CHECK(noted);
  const nlohmann::json on_cluster = printed(folder, {"simulate", "train.sh", "--cluster", "sinfo.txt"});
  const nlohmann::json on_nodes = printed(folder, {"simulate", "train.sh", "--nodes", "hgx-h100:2"});
  CHECK(on_cluster.at("iteration_time_s") == on_nodes.at("iteration_time_s"));
}

TEST_CASE("several files that say what the cluster is are put together") {
  const ScratchFolder folder;
  write_files(folder);
  folder.write("names.txt", "HOSTNAMES PARTITION STATE\nn1 big* idle\nn2 big* idle\nn4 old idle\n");
  folder.write("nodes.txt",
               "NodeName=n1 CPUAlloc=0 CPUTot=192 Gres=gpu:h100:8 State=IDLE\n\nNodeName=n2 CPUAlloc=0 CPUTot=192 "
               "Gres=gpu:h100:8 State=IDLE\n\n"
               "NodeName=n4 CPUAlloc=0 CPUTot=192 Gres=gpu:h200:8 State=IDLE\n");
  CHECK(run({{"simulate", "train.sh", "--cluster", "names.txt"}, folder.path()}).status == 2);
  const nlohmann::json both =
      printed(folder, {"simulate", "train.sh", "--cluster", "names.txt", "--cluster", "nodes.txt"});
  const nlohmann::json on_nodes = printed(folder, {"simulate", "train.sh", "--nodes", "hgx-h100:2"});
  CHECK(both.at("iteration_time_s") == on_nodes.at("iteration_time_s"));
  CHECK(both.at("gpus") == 16);
}

TEST_CASE("--nodes decides whatever the cluster says, and differences from its wiring are noted") {
  const ScratchFolder folder;
  write_files(folder);
  folder.write("topo.txt", "\tGPU0\tGPU1\tNIC0\nGPU0\tX\tSYS\tPXB\nGPU1\tSYS\tX\tSYS\nNIC0\tPXB\tSYS\tX\n");
  const nlohmann::json job = printed(folder, {"import", "train.sh", "sinfo.txt", "topo.txt", "--nodes", "hgx-h200:2"});
  CHECK(job.at("scenario").at("cluster").at("nodes").dump() == R"([{"count":2,"type":"hgx-h200"}])");
  CHECK(job.at("notes").dump().find("2 GPUs, where hgx-h200 has 8") != std::string::npos);
}

}  // namespace cluster_files_test

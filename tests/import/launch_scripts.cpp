// Launch scripts as wholes: programs that start no training, files that a script writes, values that nobody says, and
// what Slurm's options ask for.

#include "base/error.hpp"
#include "import/imported_job.hpp"
#include "import/shell_script.hpp"
#include "import/slurm_lines.hpp"
#include "launch_files.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace launch_scripts_test {

using namespace mirfak;

namespace {

namespace fs = std::filesystem;

const std::string kOptions =
    " pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 "
    "--max-position-embeddings 1024 --micro-batch-size 1 --bf16 ";

ImportedJob job_of(const std::vector<ImportFile>& files, const std::vector<std::string>& nodes = {"hgx-h100:1"}) {
  ImportRequest request;
  for (const std::string& node : nodes) request.nodes.push_back(node_choice(node));
  return import_job(files, request, ImportContext{import_sources()});
}

// A key of the strategy that the script's job has.
std::string strategy_of(const ImportedJob& job, const std::string& key) {
  const Value* strategy = job.draft.scenario().find("strategy");
  const Value* value = strategy == nullptr ? nullptr : strategy->find(key);
  return value == nullptr ? "none" : value->scalar;
}

std::string tensor_of(const std::string& script) { return strategy_of(job_of({{"train.sh", script}}), "tensor"); }

std::string refusal_of(const std::string& script) {
  try {
    const ImportedJob job = job_of({{"train.sh", script}});
    return job.draft.obstacles().empty() ? "accepted" : job.draft.obstacles().front().reason;
  } catch (const Error& error) {
    return fmt::format("{}: {} {}", error.where().line, error.message(), error.hint());
  }
}

// "2 x 8 h100", as far as the lines say.
std::string machine_of_lines(const std::string& lines) {
  const ImportedMachine machine = slurm_lines("#!/bin/bash\n" + lines, "job.sh").machine;
  const auto number = [](const std::optional<std::int64_t>& value) { return value ? std::to_string(*value) : "?"; };
  return fmt::format("{} x {}{}{}", number(machine.nodes), number(machine.gpus_per_node),
                     machine.gpu.empty() ? "" : " ", machine.gpu);
}

bool has_note(const ImportedJob& job, const std::string& part) {
  return std::any_of(job.draft.notes.begin(), job.draft.notes.end(),
                     [&](const ImportObstacle& note) { return note.reason.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("copying, changing rights, removing and packing a script runs none") {
  const ImportFile other{"other.sh", "torchrun --nproc_per_node 8" + kOptions + "--tensor-model-parallel-size 8\n"};
  for (const char* command :
       {"cp other.sh out/", "chmod +x other.sh", "tar czf all.tgz other.sh", "realpath other.sh", "cat other.sh",
        "ls -l other.sh", "mkdir -p other.sh", "rm -f ./other.sh", "touch ./other.sh"}) {
    INFO(command);
    const std::string script = fmt::format(
        "#!/bin/bash\n{}\ntorchrun --nproc_per_node 8{}--tensor-model-parallel-size 2\n", command, kOptions);
    const ImportedJob job = job_of({{"train.sh", script}, other});
    CHECK(strategy_of(job, "tensor") == "2");
    CHECK(!has_note(job, "starts 2 programs"));
  }
  // A command that starts scripts does run the other one.
  for (const char* command :
       {"bash other.sh", "srun bash other.sh", "./other.sh", "nohup bash ./other.sh &", "exec bash other.sh"}) {
    INFO(command);
    CHECK(strategy_of(job_of({{"train.sh", fmt::format("#!/bin/bash\n{}\n", command)}, other}), "tensor") == "8");
  }
}

TEST_CASE("whether an unknown program runs a script is said, and the script is not read") {
  const ImportFile other{"other.sh", "torchrun --nproc_per_node 8" + kOptions + "--tensor-model-parallel-size 8\n"};
  const ImportedJob job =
      job_of({{"train.sh", "#!/bin/bash\nsubmit-it other.sh\ntorchrun --nproc_per_node 8" + kOptions}, other});
  CHECK(strategy_of(job, "tensor") != "8");
  CHECK(has_note(job, "it is not known if submit-it runs other.sh"));
}

TEST_CASE("what a script writes is read by its later lines") {
  const std::string end = "torchrun --nproc_per_node 8" + kOptions + "--tensor-model-parallel-size $TP\n";
  CHECK(tensor_of("#!/bin/bash\ncat > args.sh <<EOF\nTP=4\nEOF\nsource args.sh\n" + end) == "4");
  CHECK(tensor_of("#!/bin/bash\necho TP=1 > a.sh; echo TP=2 >> a.sh; cp a.sh b.sh; . ./b.sh\n" + end) == "2");
  CHECK(tensor_of("#!/bin/bash\necho TP=8 | tee conf/t.env; mv conf/t.env here.env; source here.env\n" + end) == "8");
  CHECK(tensor_of("#!/bin/bash\necho TP=4 > a.sh; mkdir d; cp a.sh d/; cd d; source ./a.sh\n" + end) == "4");
  CHECK(tensor_of("#!/bin/bash\necho TP=4 > a.sh; sed -i s/4/8/ a.sh; TP=2; source a.sh\n" + end) == "8");
  const std::string edited = "#!/bin/bash\necho TP=4 > a.sh; sed -i '1a TP=8' a.sh; TP=2; source a.sh\n" + end;
  CHECK(has_note(job_of({{"train.sh", edited}}), "sed -i"));
}

TEST_CASE("a file is read from the folder that the script changes to") {
  const ScratchFolder scratch;
  const fs::path& folder = scratch.path();
  fs::create_directories(folder / "conf");
  std::ofstream(folder / "args.sh") << "TP=8\n";
  std::ofstream(folder / "conf" / "args.sh") << "TP=4\n";
  const std::string end = "\ntorchrun --nproc_per_node 8" + kOptions + "--tensor-model-parallel-size $TP\n";
  const std::string script = (folder / "train.sh").string();
  for (const char* begin :
       {"D=\"$(cd \"$(dirname \"${BASH_SOURCE[0]}\")/conf\" && pwd)\"; source \"$D/args.sh\"",
        "HERE=$(dirname $(realpath $0)); source $HERE/conf/args.sh", "cd $(dirname $0)/conf; . ./args.sh",
        "source conf/args.sh", "pushd conf; source args.sh; popd"}) {
    INFO(begin);
    CHECK(strategy_of(job_of({{script, std::string("#!/bin/bash\n") + begin + end}}), "tensor") == "4");
  }
  const ImportedJob beside = job_of({{script, "#!/bin/bash\nsource other/args.sh" + end}});
  CHECK(strategy_of(beside, "tensor") == "8");
  CHECK(has_note(beside, "is read in its place, which has the same name"));
}

TEST_CASE("what nobody says is asked for where it matters, with its name, and nowhere else") {
  const std::string head = "#!/bin/bash\n";
  for (const char* port :
       {"PORT=$((10000 + ($SLURM_JOBID % 50000)))", "PORT=$((RANDOM % 1000 + 20000))",
        "PORT=$(shuf -i 2000-65000 -n 1)", "PORT=$(expr 10000 + $(echo -n $SLURM_JOBID | tail -c 4))",
        "HOSTS=($(scontrol show hostnames $SLURM_JOB_NODELIST)); PORT=${HOSTS[0]}"}) {
    INFO(port);
    const std::string script = head + port + "\ntorchrun --nproc_per_node 8 --master_port $PORT --rdzv_id $(date +%s)" +
                               kOptions + "--tensor-model-parallel-size 2 --save out/$(date +%F)\n";
    CHECK(refusal_of(script) == "accepted");
    CHECK(tensor_of(script) == "2");
  }
  const std::string unset = refusal_of(head + "GPUS=$(($NODES * $PER_NODE))\ntorchrun --nproc_per_node 8" + kOptions +
                                       "--global-batch-size $GPUS\n");
  CHECK(unset.find("NODES") != std::string::npos);
  CHECK(unset.find("--env NODES=VALUE") != std::string::npos);
  const std::string absent = refusal_of(head + "source params/$P.sh\nmpirun -np 8 python pretrain_gpt.py ${ALL[@]}\n");
  CHECK(absent.find("params/.sh (P is not known)") != std::string::npos);
  CHECK(absent.find("ALL") != std::string::npos);
  CHECK(absent.starts_with("3: "));
}

TEST_CASE("Slurm's options, whichever way they are written") {
  for (const auto& example : {
           std::pair{"#SBATCH -N 2 --gres=gpu:h100:8\n", "2 x 8 h100"},
           {"#SBATCH --nodes 4 # as many\n#SBATCH --gres=gpu:8,nvme:1\n", "4 x 8"},
           {"#SBATCH -N2\n#SBATCH --gres=nvme:1,gpu:a100:4\n", "2 x 4 a100"},
           {"#SBATCH --nodes=2-4 --gpus-per-node=h100:8\n", "4 x 8 h100"},
           {"#SBATCH -N3\n#SBATCH -G 24\n", "3 x 8"},
           {"#SBATCH --gpus=h100:32 --gpus-per-node=8\n", "4 x 8 h100"},
           {"#SBATCH -n 32 --ntasks-per-node=8 --gpus-per-task=1\n", "4 x 8"},
           {"#SBATCH --ntasks=16\n#SBATCH --tasks-per-node=4\n#SBATCH --gres gpu\n", "4 x 1"},
           {"#SBATCH --tres-per-node=gres/gpu:h200:8 -N 1\n", "1 x 8 h200"},
           {"##SBATCH --nodes=8\n# SBATCH --nodes=9\n#SBATCH -p big -t 1:00 -J \"a b\" --exclusive --nodes=1\n",
            "1 x ?"},
           {"\n#SBATCH -N 1\nmodule load x\n#SBATCH -N 16\n", "1 x ?"},
           {"#SBATCH --nodes=$N\n#SBATCH --gres=gpu:8\n", "? x 8"},
       }) {
    CAPTURE(example.first);
    CHECK(machine_of_lines(example.first) == example.second);
  }
  const SlurmLines said = slurm_lines("#!/bin/bash\n#SBATCH --nodes=2-4\nls\n#SBATCH -p x\n", "job.sh");
  REQUIRE(said.notes.size() == 2);
  CHECK(said.notes[0].where.line == 4);
  CHECK(said.notes[1].reason.find("2 to 4 nodes") != std::string::npos);
  CHECK(said.environment.at("SLURM_NNODES") == "4");
}

TEST_CASE("options of srun and mpirun go before those of the job, and a launcher's before both") {
  const auto nodes = [](const std::string& job, const std::string& command) {
    const ImportedJob out = job_of({{"train.sh", "#!/bin/bash\n" + job + command + kOptions + "\n"}}, {});
    const ImportedMachine& machine = out.draft.machine;
    return fmt::format("{} x {}", machine.nodes.value_or(0), machine.gpus_per_node.value_or(0));
  };
  CHECK(nodes("#SBATCH -N 8 --gres=gpu:8\n", "srun -N4 -n 4 torchrun --nproc_per_node 8") == "4 x 8");
  CHECK(nodes("#SBATCH -N 8 --gres=gpu:8\n", "srun torchrun --nproc_per_node 4 --nnodes 2") == "2 x 4");
  CHECK(nodes("#SBATCH -N 2 --gres=gpu:8,nvme:1\n", "srun --ntasks-per-node=8 python") == "2 x 8");
  CHECK(nodes("#SBATCH -N 2 --ntasks-per-node=4\n", "srun python") == "2 x 4");
  CHECK(nodes("#SBATCH -N 2 --ntasks-per-node=1\n", "srun torchrun --nnodes 2 --nproc_per_node 8") == "2 x 8");
  CHECK(nodes("", "mpirun -np 32 -N 8 python") == "4 x 8");
  CHECK(nodes("", "mpirun -np 16 --map-by ppr:4:node python") == "4 x 4");
}

TEST_CASE("a machine of a cloud that scontrol or a feature names is that machine") {
  const auto type = [](const std::string& words) {
    const ImportFile node{"nodes.txt", "NodeName=n1 CPUAlloc=0 CPUTot=192 " + words + " RealMemory=1 State=IDLE\n"};
    const ImportedJob job =
        job_of({{"train.sh", "#!/bin/bash\ntorchrun --nproc_per_node 8" + kOptions + "\n"}, node}, {});
    const Value* cluster = job.draft.scenario().find("cluster");
    if (cluster == nullptr) return job.draft.obstacles().front().reason;
    return cluster->find("nodes")->items.front().find("type")->scalar;
  };
  CHECK(type("Gres=gpu:h100:8") == "hgx-h100");
  CHECK(type("Gres=gpu:h100:8 InstanceId=i-0 InstanceType=p5.48xlarge") == "aws-p5");
  CHECK(type("Gres=gpu:h100:8 ActiveFeatures=dynamic,p5.48xlarge") == "aws-p5");
  CHECK(type("Gres=gpu:8 InstanceType=Standard_ND96isr_H100_v5") == "azure-nd-h100-v5");
  CHECK(type("Gres=gpu:8 InstanceType=a2-ultragpu-8g") == "gcp-a2-ultragpu");
  CHECK(type("Gres=gpu:h100:8 InstanceType=m9.new").find("m9.new is no machine of a cloud that is known") !=
        std::string::npos);
}

TEST_CASE("places are those of the lines that say it") {
  const ImportedJob job =
      job_of({{"train.sh",
               "#!/bin/bash\n# one\nT=22\nexport NCCL_IB_TIMEOUT=$T\nf() {\n  local tp=2\n  "
               "export NVTE_FLASH_ATTN=1 \\\n    NCCL_DEBUG=INFO\n  OPTS=\"--lr 1 \\\n    --seed 3 \\\n   "
               " --typo-here 4\"\n}\nf\ncat <<EOF > x.sh\nexport NCCL_ALGO=Ring\nEOF\nsource x.sh\n"
               "torchrun --nproc_per_node 8" +
                   kOptions + " \\\n  $OPTS\n"}});
  const auto line = [&](const std::string& text) {
    for (const ImportLine& one : job.draft.lines()) {
      if (one.text.starts_with(text)) return fmt::format("{}:{}", one.where.line, one.where.column);
    }
    return std::string("none");
  };
  CHECK(line("NCCL_IB_TIMEOUT") == "4:8");
  CHECK(line("NVTE_FLASH_ATTN") == "7:10");
  CHECK(line("NCCL_DEBUG") == "8:5");
  CHECK(line("--typo-here 4") == "11:5");
  CHECK(line("NCCL_ALGO") == "15:8");
  CHECK(line("--num-layers 8") == "18:45");
}

}  // namespace launch_scripts_test

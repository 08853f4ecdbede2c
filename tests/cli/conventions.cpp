#include "program.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

using namespace mirfak::test;

namespace {

const std::filesystem::path kNowhere;

// Returns bash's completions of the last of these words.
std::string offered(const std::string& words) {
  const std::string line = "bash -c 'source <(mirfak completion bash); COMP_WORDS=(" + words +
                           "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _mirfak; echo \"${COMPREPLY[*]}\"'";
  const Finished finished = run_shell(line, kNowhere);
  CHECK(finished.status == 0);
  CHECK(finished.err.empty());
  return finished.out;
}

}  // namespace

TEST_CASE("bash completes commands, options, values and keys") {
  CHECK(offered("mirfak sim") == "simulate\n");
  CHECK(offered("mirfak simulate --sampl") == "--samples --sampling\n");
  CHECK(offered("mirfak simulate --sampling a") == "antithetic\n");
  CHECK(offered("mirfak simulate x.yaml --set strategy.tens") == "strategy.tensor=\n");
  CHECK(offered("mirfak list mod") == "models\n");
  CHECK(offered("mirfak completion z") == "zsh\n");
  CHECK(offered("mirfak simulate --samples 1") == "\n");  // a number
}

TEST_CASE("every shell has a script that names every command") {
  const std::string all = run({"--help"}).out;
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const Finished finished = run({"completion", shell});
    CHECK(finished.status == 0);
    for (const std::string command : {"simulate", "search", "topology", "man"}) {
      CHECK(finished.out.find(command) != std::string::npos);
    }
    const ScratchFolder folder;
    const std::string checks = "if command -v " + shell + " > /dev/null; then " + shell + " -n script; fi";
    CHECK(run_shell("mirfak completion " + shell + " > script && " + checks, folder.path()).status == 0);
  }
  CHECK(run({"completion", "csh"}).status == 2);
}

TEST_CASE("every command has a manual page that groff formats without a warning") {
  const std::string line =
      "set -e; for page in mirfak $(mirfak --help | sed -n \"s/^  \\([a-z]*\\)  *[a-z].*/\\1/p\"); do mirfak man $page "
      "> p; "
      "if command -v groff > /dev/null; then groff -man -ww -z p; fi; grep -q \"^.TH\" p; echo $page; done; rm p";
  const ScratchFolder folder;
  const Finished finished = run_shell(line, folder.path());
  CHECK(finished.status == 0);
  CHECK(finished.err.empty());
  CHECK(finished.out.find("mirfak\n") == 0);
  CHECK(finished.out.find("simulate\n") != std::string::npos);
  CHECK(finished.out.find("bench\n") != std::string::npos);
  const std::string page = run({"man", "simulate"}).out;
  CHECK(page.find("\\-\\-set") != std::string::npos);
  CHECK(page.find("MIRFAK_DATA") != std::string::npos);
}

TEST_CASE("doctor says what works, and fails where something does not") {
  const Finished well = run({"doctor"});
  CHECK(well.status == 0);
  for (const std::string what : {"models", "hardware", "frameworks", "a simulation", "a trace (HDF5)"}) {
    CHECK(well.out.find("\n  " + what) != std::string::npos);
  }
  CHECK(well.out.find("fails") == std::string::npos);
  const ScratchFolder folder;
  const Finished broken = run({{"doctor", "--data", folder.path().string() + "/none"}, folder.path()});
  CHECK(broken.status == 1);
  CHECK(broken.err.find("data folder: ") != std::string::npos);
  CHECK(broken.out.find("processors") != std::string::npos);
}

TEST_CASE("a word where a template has a number is refused") {
  const auto refusal_of = [](const std::string& what, const std::string& value) {
    const Finished finished = run({"init", what, "--set", value});
    CHECK(finished.out.empty() == (finished.status != 0));
    return finished.err;
  };
  const std::string place = "cluster.nodes[0].count=llama3-8b";
  CHECK(refusal_of("scenario", place).find("cluster.nodes[0].count: expected a number, found 'llama3-8b'") !=
        std::string::npos);
  CHECK(refusal_of("search", "training.global_batch=many").find("expected a number") != std::string::npos);
  CHECK(refusal_of("scenario", "training.global_batch=8k").empty());
  CHECK(refusal_of("scenario", "model=llama3-8b").empty());
}

TEST_CASE("templates become files of one's own, and all that is missing is said at once") {
  const ScratchFolder folder;
  const auto in_folder = [&](const std::string& line) { return run_shell(line, folder.path()); };
  const Finished open = in_folder("mirfak init scenario --set model=llama3-8b --out mine.yaml");
  CHECK(open.status == 0);
  CHECK(open.out.find("3 values are still to be filled in") != std::string::npos);
  const Finished refused = in_folder("mirfak simulate mine.yaml");
  CHECK(refused.status == 2);
  CHECK(refused.err.find("mine.yaml:5:13: 3 values are still to be filled in:") != std::string::npos);
  CHECK(refused.err.find("cluster.nodes[0].count: nodes of this type") != std::string::npos);
  CHECK(refused.err.find("training.global_batch: sequences per iteration") != std::string::npos);
  const Finished again = in_folder("mirfak init scenario --out mine.yaml");
  CHECK(again.status == 2);
  CHECK(again.err.find("this file exists, and is not replaced") != std::string::npos);
  const std::string values =
      "--set model=llama3-8b --set cluster.nodes[0].type=hgx-h100 --set cluster.nodes[0].count=2 "
      "--set training.global_batch=128";
  const std::string divided = " --set strategy.tensor=4";
  CHECK(in_folder("mirfak init scenario " + values + divided + " --out full.yaml").out == "full.yaml is written.\n");
  CHECK(in_folder("mirfak simulate full.yaml").status == 0);
  CHECK(in_folder("mirfak init search " + values + " --set training.tokens=1e12 --out s.yaml").status == 0);
  CHECK(in_folder("mirfak search s.yaml --top 1").status == 0);
  CHECK(in_folder("mirfak init sweep --set scenario=full.yaml --out sweep.yaml").status == 0);
  CHECK(in_folder("mirfak sweep sweep.yaml --estimate").status == 0);
}

TEST_CASE("a GPU and a node of one's own are profiles once all is filled in") {
  const ScratchFolder folder;
  const std::string gpu =
      "mirfak init gpu --set title=Mine --set architecture=hopper --set multiprocessors=100 --set "
      "peak_flops.fp32=50e12 "
      "--set peak_flops.tf32=300e12 --set peak_flops.fp16=600e12 --set peak_flops.bf16=600e12 --set memory_bytes=80e9 "
      "--set memory_bandwidth=3e12 --set l2_bytes=50e6 --set tdp_w=600 --set idle_w=70 --set blocked_w=130 "
      "--set clock_peak_hz=1.8e9 --set clock_max_hz=1.9e9 --set clock_min_hz=200e6 --set gemm_like=h100 --out gpu.yaml";
  const Finished finished = run_shell(gpu, folder.path());
  CHECK(finished.out == "gpu.yaml is written.\n");
  CHECK(finished.err.empty());
  const std::string node =
      "mirfak init node --set title=Mine --set gpu=./gpu.yaml --set gpus=8 --set scale_up=nvlink4 --set network=ib-ndr "
      "--set ports=8 --set host_memory_bytes=2e12 --set host_memory_bandwidth=6e11 --set host_power_w=4000 --out "
      "node.yaml";
  CHECK(run_shell(node, folder.path()).out == "node.yaml is written.\n");
  const std::string scenario =
      "mirfak init scenario --set model=llama3-8b --set cluster.nodes[0].type=./node.yaml "
      "--set cluster.nodes[0].count=2 --set training.global_batch=128 "
      "--set strategy.tensor=4 --out s.yaml";
  CHECK(run_shell(scenario, folder.path()).status == 0);
  const Finished simulated = run_shell("mirfak simulate s.yaml", folder.path());
  CHECK(simulated.status == 0);
  CHECK(simulated.out.find("Mine") != std::string::npos);
}

TEST_CASE("a price list of one's own prices a scenario once all is filled in") {
  const ScratchFolder folder;
  const Finished list = run_shell(
      "mirfak init prices --set title=Ours --set offers[0].gpu=h100 --set offers[0].date=2026-11 --set "
      "offers[0].on-demand=2 --out ours.yaml",
      folder.path());
  CHECK(list.out == "ours.yaml is written.\n");
  const auto cost = [&](const std::string& price) {
    const Finished priced =
        run_shell("mirfak simulate scenarios/llama2-70b-h100.yaml --format json --set cluster.price=" + price +
                      " | grep cost_usd",
                  folder.path());
    CHECK_MESSAGE(priced.status == 0, priced.err);
    return priced.out;
  };
  CHECK(cost("ours.yaml/on-demand") == cost("2"));
}

TEST_CASE("a terminal is told what was written, and nothing else is") {
  if (run_shell("command -v script", {}).status != 0) {
    MESSAGE("skipped: there is no script of util-linux, which gives a program a terminal");
    return;
  }
  const ScratchFolder folder;
  const std::string line = "mirfak simulate scenarios/gpt3-13b-gpipe-a100.yaml --timeline t.json > out.txt";
  const Finished told = run_shell("script -qec 'stty cols 80; " + line + "' /dev/null", folder.path());
  CHECK(told.status == 0);
  CHECK(told.out.find("t.json is written") != std::string::npos);
  CHECK(read_text(folder.path() / "out.txt").find("is written") == std::string::npos);
  const Finished quiet = run_shell("rm t.json; " + line, folder.path());
  CHECK(quiet.status == 0);
  CHECK(quiet.err.empty());
}

TEST_CASE("templates keep their comments, and know their keys") {
  const Finished text = run({"init", "scenario", "--set", "training.global_batch=64"});
  CHECK(text.status == 0);
  CHECK(text.out.find("  global_batch: 64  # sequences per iteration\n") != std::string::npos);
  const Finished wrong = run({"init", "scenario", "--set", "training.global_bach=64"});
  CHECK(wrong.status == 2);
  CHECK(wrong.err.find("did you mean 'training.global_batch'?") != std::string::npos);
  const Finished list = run({"init", "scenario", "--set", "model=[1, 2]"});
  CHECK(list.status == 2);
  for (const std::string what : {"scenario", "search", "sweep", "gpu", "node", "prices"})
    CHECK(run({"init", what}).status == 0);
}

TEST_CASE("JSON and files name the version and a hash of the data they were made with") {
  const ScratchFolder folder;
  const std::string line =
      "set -e; cp -rL hw_profiles own_hw; mkdir own; mv own_hw own/hw_profiles; cp -rL models own/models; "
      "of() { mirfak simulate scenarios/gpt3-13b-gpipe-a100.yaml --format json \"$@\" | grep -E "
      "'program_version|data_hash'; }; "
      "of; of --data own; echo '# a remark' >> own/hw_profiles/ranges.yaml; of --data own; "
      "mirfak list models --format json | grep -E 'program_version|data_hash'; "
      "mirfak schedule 1f1b --stages 2 --microbatches 2 --format json | grep -E 'program_version|data_hash'; "
      "mirfak search scenarios/search-llama2-70b-h100.yaml --out best.yaml > /dev/null; head -n 1 best.yaml; rm -r own "
      "best.yaml";
  const Finished finished = run_shell(line, folder.path());
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  std::vector<std::string> lines;
  std::istringstream all(finished.out);
  for (std::string one; std::getline(all, one);) lines.push_back(one);
  REQUIRE(lines.size() == 10);
  for (const int at : {0, 2, 4, 6, 8}) CHECK(lines[at].starts_with("  \"program_version\": "));
  const std::string hash = lines[1];
  CHECK(hash.starts_with("  \"data_hash\": \""));
  CHECK(lines[3] == hash);  // a copy of the data is the same data
  CHECK(lines[5] != hash);
  CHECK(lines[7] == hash);
  CHECK(lines[9].starts_with("# mirfak "));
  CHECK(hash.find(lines[9].substr(lines[9].size() - 16)) != std::string::npos);
}

// Searches over whole spaces of strategies: how long they take, beside what others report, how they grow with the
// cluster, and what they find for well-known models.
//   mirfak_bench_search [llama | mixed | cost | growth | calculon | models]... [--smoke]
// Without names: all sections.

#include "plan/search.hpp"

#include "cluster/catalog.hpp"
#include "model/model_loader.hpp"
#include "processor_time.hpp"
#include "support/frameworks.hpp"
#include "support/source_root.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace mirfak;

constexpr int kGpusOfNode = 8;

bool failed = false;  // any row

std::string source_folder() { return source_root(); }

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Subject {
  std::string model;
  std::string node;
  int gpus = 0;
  std::int64_t batch = 0;
  std::int64_t sequence = 4096;
  std::string precision = "bf16";
};

struct Nodes {
  std::string type;
  int gpus = 0;
};

// A job of the subject's model and training, on these nodes.
Job job_on(const Subject& subject, std::initializer_list<Nodes> all) {
  const Catalog catalog(source_folder() + "/hw_profiles");
  std::vector<NodeAllotment> groups;
  for (const Nodes& nodes : all) {
    const NodeHardware hardware = catalog.node(nodes.type);
    groups.push_back({hardware, nodes.gpus / kGpusOfNode, catalog.price("on-demand", hardware.spec.gpu)});
  }
  TrainingSpec training;
  training.global_batch = subject.batch;
  training.sequence_length = subject.sequence;
  training.precision = subject.precision;
  return {load_model(subject.model, source_folder() + "/models", {}),
          Cluster(std::move(groups), default_fabric()),
          training,
          {},
          test::framework_named(test::frameworks().default_name())};
}

Job job_of(const Subject& subject) { return job_on(subject, {{subject.node, subject.gpus}}); }

SearchSpec whole_space(const Job& job) {
  SearchSpec spec;
  spec.space = default_space(job.model, job.training, job.framework);
  return spec;
}

struct Timed {
  SearchResult result;
  double wall_s = 0;
  double processor_s = 0;

  std::int64_t enumerated() const { return result.funnel.front().count; }
  std::int64_t simulated() const { return result.funnel.back().count; }
  double per_core_s() const { return static_cast<double>(enumerated()) / processor_s; }
};

Timed timed_search(const Job& job, const SearchSpec& spec) {
  const auto begin = std::chrono::steady_clock::now();
  const double before = processor_s();
  Timed out;
  out.result = search(job, spec);
  out.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  out.processor_s = processor_s() - before;
  return out;
}

std::string text_of(const Strategy& s) {
  std::string out = fmt::format("tp {} cp {} pp {} dp {}", s.tensor, s.context, s.pipeline, s.data);
  if (s.expert > 1) out += fmt::format(" ep {} etp {}", s.expert, s.tensor_of_experts());
  if (s.virtual_pipeline > 1) out += fmt::format(" vpp {}", s.virtual_pipeline);
  if (!s.layer_split.empty()) out += fmt::format(" ends {}|{}", s.layer_split.front(), s.layer_split.back());
  out += fmt::format(" mb {} zero {}", s.micro_batch, s.zero);
  constexpr const char* recompute[] = {"", " selective", " full"};
  out += recompute[static_cast<int>(s.recompute)];
  if (s.recompute_layers > 0) out += fmt::format(" of {}", s.recompute_layers);
  if (s.sequence_parallel) out += s.overlap_tensor ? " sp+overlap" : " sp";
  return out;
}

std::string best_of(const SearchResult& result) {
  if (result.strategies.empty()) return "nothing fits";
  const FoundStrategy& best = result.strategies.front();
  return fmt::format("{:>9.4f} s  {}", best.iteration_time_s, text_of(best.job.strategy));
}

void print_funnel(const SearchResult& result) {
  fmt::print("{:>14}{:>14}{:>16}\n", "step", "left", "processor s");
  for (const FunnelStep& step : result.funnel)
    fmt::print("{:>14}{:>14}{:>16.3f}\n", step.name, step.count, step.time_s);
}

void print_header() {
  fmt::print("{:<14}{:<14}{:>7}{:>12}{:>10}{:>9}{:>9}{:>12}{:>10}  {}\n", "model", "node", "GPUs", "strategies",
             "simulated", "wall s", "CPU s", "per CPU s", "peak MiB", "iteration and best layout");
}

// Runs `body` in a process of its own, so that its peak memory is its own, and no end of it ends anything else.
void alone(const std::function<void()>& body) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::fflush(stdout);
    _exit(failed ? 1 : 0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status)) fmt::print("ended by signal {}\n", status);
  if (status != 0) failed = true;
}

// A subject that fails is a row that says why.
void print_row(const Subject& subject) {
  try {
    const Job job = job_of(subject);
    const Timed timed = timed_search(job, whole_space(job));
    fmt::print("{:<14}{:<14}{:>7}{:>12}{:>10}{:>9.3f}{:>9.3f}{:>12.0f}{:>10.0f}  {}\n", subject.model, subject.node,
               subject.gpus, timed.enumerated(), timed.simulated(), timed.wall_s, timed.processor_s, timed.per_core_s(),
               peak_mib(), best_of(timed.result));
  } catch (const std::exception& error) {
    fmt::print("{:<14}{:<14}{:>7}  failed: {}\n", subject.model, subject.node, subject.gpus, error.what());
    failed = true;
  }
}

const Subject& llama(bool smoke) {
  static const Subject whole = {"llama2-70b", "hgx-h100", 1024, 1024};
  static const Subject small = {"llama2-7b", "hgx-h100", 16, 64};
  return smoke ? small : whole;
}

// The best of some runs.
void print_llama(bool smoke) {
  const Subject& subject = llama(smoke);
  const Job job = job_of(subject);
  SearchSpec spec = whole_space(job);
  spec.top = 1;  // as Astra's figure
  Timed best = timed_search(job, spec);
  for (int i = 0; i < (smoke ? 0 : 4); ++i) {
    Timed again = timed_search(job, spec);
    if (again.wall_s < best.wall_s) best = std::move(again);
  }
  fmt::print("{} on {} {} GPUs, batch {}, {} cores, the best layout (goal 0.3 s on two; Astra reports 1.27 s)\n",
             subject.model, subject.gpus, subject.node, subject.batch, std::thread::hardware_concurrency());
  fmt::print(
      "{:.3f} s, {:.3f} s of processors, {} strategies, {} simulated, {:.0f} strategies/s and core (goal 50,000; "
      "Calculon 472), peak {:.0f} MiB\n{}\n",
      best.wall_s, best.processor_s, best.enumerated(), best.simulated(), best.per_core_s(), peak_mib(),
      best_of(best.result));
  print_funnel(best.result);
}

void print_searched(const char* title, const Timed& timed) {
  fmt::print("\n{}\n", title);
  fmt::print(
      "{:.2f} s, {:.2f} s of processors, {} strategies, {} simulated, {:.0f} strategies/s and core, peak {:.0f} MiB\n",
      timed.wall_s, timed.processor_s, timed.enumerated(), timed.simulated(), timed.per_core_s(), peak_mib());
  print_funnel(timed.result);
}

// Two types of nodes in one job.
void print_mixed(bool smoke) {
  const int gpus = smoke ? 8 : 512;
  const Subject subject = {smoke ? "llama2-7b" : "llama2-70b", {}, 2 * gpus, smoke ? 64 : 1024};
  const Job job = job_on(subject, {{"hgx-h100", gpus}, {"dgx-a100-80g", gpus}});
  SearchSpec spec = whole_space(job);
  if (smoke) spec.space.recompute_layers = {0};
  const Timed timed = timed_search(job, spec);
  print_searched("512 H100 + 512 A100, the whole space (goal 10 s; Astra reports 81 s over two types and 1,024 GPUs)",
                 timed);
  fmt::print("{}\n", best_of(timed.result));
}

// The Pareto set of time, dollars and energy over any number of GPUs of one type of several.
void print_cost(bool smoke) {
  const int gpus = smoke ? 16 : 4096;
  const Subject subject = {smoke ? "llama2-7b" : "llama2-70b", {}, gpus, smoke ? 64 : 4096};
  const Job job =
      job_on(subject, {{"hgx-h100", gpus}, {"hgx-h200", gpus}, {"dgx-a100-80g", gpus}, {"dgx-a100-40g", gpus}});
  SearchSpec spec = whole_space(job);
  spec.objective = SearchObjective::pareto;
  spec.any_count = true;
  spec.mixed = false;
  if (smoke) spec.space.recompute_layers = {0};
  const Timed timed = timed_search(job, spec);
  print_searched("1 to 4,096 GPUs of one of four types, the Pareto set of the whole space (goal 20 s)", timed);
  fmt::print("{} strategies in the set\n", timed.result.strategies.size());
}

void print_growth(bool smoke) {
  fmt::print("\nhow a search grows with the cluster, one sequence of 4,096 tokens for each GPU\n");
  print_header();
  for (const int gpus : {64, 256, 1024, 4096, 16384, 65536}) {
    if (smoke && gpus > 64) break;
    alone([&] { print_row({smoke ? "llama2-7b" : "llama2-70b", "hgx-h100", gpus, gpus}); });
  }
}

// Calculon's exhaustive search (SC'23): GPT-3 175B on 4,096 A100, every strategy in its order of parameters.
void print_calculon(bool smoke) {
  const Subject subject = {"gpt3-175b", "dgx-a100-80g", smoke ? 64 : 4096, smoke ? 64 : 4096, 2048};
  const Job job = job_of(subject);
  SearchSpec spec = whole_space(job);
  if (!smoke) spec.space.tensor_across_domains = true;
  if (smoke) spec.space.recompute_layers = {0};
  const Timed timed = timed_search(job, spec);
  fmt::print(
      "\n{} on {} A100, batch {} (Calculon: 7.5 million configurations, 4.4 CPU-hours; goal 3 minutes)\n{:.2f} s, "
      "{:.2f} s of processors, {} strategies, {} simulated, {:.0f} strategies/s and core, peak {:.0f} MiB\n{}\n",
      subject.model, subject.gpus, subject.batch, timed.wall_s, timed.processor_s, timed.enumerated(),
      timed.simulated(), timed.per_core_s(), peak_mib(), best_of(timed.result));
  print_funnel(timed.result);
}

void print_models(bool smoke) {
  const struct {
    const char* model;
    int gpus;
    std::int64_t batch;
    std::int64_t sequence;
  } models[] = {{"llama2-7b", 64, 512, 4096},      {"llama2-13b", 128, 512, 4096},    {"llama2-70b", 512, 1024, 4096},
                {"llama3-8b", 64, 512, 8192},      {"llama3-70b", 512, 1024, 8192},   {"llama3-405b", 2048, 2048, 8192},
                {"gpt3-175b", 1024, 1536, 2048},   {"mt-nlg-530b", 2240, 1920, 2048}, {"gpt-1t", 3072, 3072, 2048},
                {"mixtral-8x7b", 256, 1024, 4096}, {"deepseek-v3", 2048, 8192, 4096}};
  fmt::print("\nmodels and nodes\n");
  print_header();
  for (const auto& row : models) {
    for (const char* node : {"dgx-a100-80g", "hgx-h100", "hgx-h200"}) {
      if (smoke && (row.gpus > 64 || std::string_view(node) != "hgx-h100")) continue;
      alone([&] { print_row({row.model, node, row.gpus, row.batch, row.sequence}); });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  const bool smoke = std::find(words.begin(), words.end(), "--smoke") != words.end();
  const bool all = static_cast<std::size_t>(std::count(words.begin(), words.end(), "--smoke")) == words.size();
  const auto wanted = [&](std::string_view section) {
    return all || std::find(words.begin(), words.end(), section) != words.end();
  };
  if (wanted("llama")) alone([&] { print_llama(smoke); });
  if (wanted("mixed")) alone([&] { print_mixed(smoke); });
  if (wanted("cost")) alone([&] { print_cost(smoke); });
  if (wanted("growth")) print_growth(smoke);
  if (wanted("calculon")) alone([&] { print_calculon(smoke); });
  if (wanted("models")) print_models(smoke);
  return failed ? 1 : 0;
}

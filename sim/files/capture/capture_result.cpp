#include "capture/capture_result.hpp"

#include "base/units.hpp"
#include "capture/captured_ranks.hpp"
#include "capture/captured_tensors.hpp"
#include "simulation/borrowed_figures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace mirfak {

namespace {

constexpr CapturedTimePart kParts[] = {
    {"GEMM", "gemm_s", &CapturedTimes::gemm_s},
    {"attention", "attention_s", &CapturedTimes::attention_s},
    {"memory-bound kernels", "memory_bound_s", &CapturedTimes::memory_bound_s},
    {"optimizer", "optimizer_s", &CapturedTimes::optimizer_s},
    {"exposed communication", "exposed_communication_s", &CapturedTimes::communication_s},
    {"host", "host_s", &CapturedTimes::host_s},
    {"bubble", "bubble_s", &CapturedTimes::waiting_s},
};

// Replaces the numbers of a path by "*": blocks of a list are one place.
std::string place_in_program(const std::string& module) {
  std::string out;
  for (std::size_t begin = 0; begin <= module.size();) {
    const std::size_t end = std::min(module.find('.', begin), module.size());
    const std::string_view part(module.data() + begin, end - begin);
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    if (begin > 0) out += '.';
    out += number ? "*" : part;
    begin = end + 1;
  }
  return out;
}

std::string tensors_text(const CapturedOperator& op) {
  constexpr std::size_t shown = 3;
  std::vector<std::string> parts;
  for (const CapturedTensor& tensor : op.in) {
    if (parts.size() == shown) {
      parts.push_back(fmt::format("and {} more", op.in.size() - shown));
      break;
    }
    parts.push_back(fmt::format("{}[{}]", tensor.format, fmt::join(tensor.shape, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

// One rank, as it was executed.
class RankReader {
 public:
  RankReader(const Capture& capture, const CapturedProgram& executed, std::size_t index)
      : capture_(capture), executed_(executed), index_(index), priced_(executed.ranks[index]) {}

  CapturedRankResult result() const;
  std::vector<CapturedWork> work() const;

 private:
  const CaptureEvent& event(const CapturedTask& task) const {
    return capture_.ranks[priced_.rank].events[static_cast<std::size_t>(task.event)];
  }
  bool communicates(const CapturedTask& task) const { return event(task).kind == CaptureEventKind::communicate; }
  Picoseconds start(std::size_t task) const { return executed_.timeline.start[executed_.joined.task_of[index_][task]]; }
  Picoseconds end(std::size_t task) const { return executed_.timeline.end[executed_.joined.task_of[index_][task]]; }
  std::size_t part_of(const CapturedTask& task) const;
  void divide(CapturedRankResult& out) const;

  const Capture& capture_;
  const CapturedProgram& executed_;
  std::size_t index_;
  const PricedRank& priced_;
};

// Index of kParts.
std::size_t RankReader::part_of(const CapturedTask& task) const {
  if (communicates(task)) return 4;
  if (event(task).phase == CapturePhase::optimizer) return 3;
  switch (executed_.price(priced_, event(task)).cost.activity) {
    case Activity::gemm:
      return 0;
    case Activity::attention:
      return 1;
    default:
      return 2;
  }
}

// Walks over the times at which work begins or ends. Kernels that run at once share the time.
void RankReader::divide(CapturedRankResult& out) const {
  struct Change {
    Picoseconds at = 0;
    int by = 0;
    std::size_t part = 0;
    bool issued_now = false;  // the work begins as soon as the host has issued it
  };
  std::vector<Change> changes;
  Picoseconds host_end = 0;
  for (std::size_t i = 0; i < priced_.tasks.size(); ++i) {
    const CapturedTask& task = priced_.tasks[i];
    if (task.on_host) {
      host_end = std::max(host_end, end(i));
      out.host_work_s += to_seconds(end(i) - start(i));
      continue;
    }
    if (end(i) == start(i)) continue;
    const std::size_t part = part_of(task);
    changes.push_back({start(i), 1, part, end(task.issued_by) == start(i)});
    changes.push_back({end(i), -1, part, false});
  }
  const Picoseconds last = executed_.timeline.makespan;
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  std::array<int, 5> running{};
  Picoseconds now = 0;
  for (std::size_t i = 0; i <= changes.size(); ++i) {
    const Picoseconds until = i < changes.size() ? changes[i].at : last;
    const double seconds = to_seconds(until - now);
    const int kernels = running[0] + running[1] + running[2] + running[3];
    if (kernels > 0) {
      for (std::size_t part = 0; part < 4; ++part) out.times.*kParts[part].seconds += seconds * running[part] / kernels;
      if (running[4] > 0) out.hidden_communication_s += seconds;
    } else if (running[4] > 0) {
      out.times.communication_s += seconds;
    } else if (i == changes.size()) {
      const double host_s = to_seconds(std::clamp(host_end, now, last) - now);
      out.times.host_s += host_s;
      out.times.waiting_s += seconds - host_s;
    } else {
      bool host = false;
      for (std::size_t next = i; next < changes.size() && changes[next].at == until; ++next) {
        host = host || changes[next].issued_now;
      }
      (host ? out.times.host_s : out.times.waiting_s) += seconds;
    }
    now = until;
    if (i < changes.size()) running[changes[i].part] += changes[i].by;
  }
}

CapturedRankResult RankReader::result() const {
  const CapturedRank& rank = capture_.ranks[priced_.rank];
  CapturedRankResult out;
  out.rank = rank.rank;
  divide(out);
  out.clock = std::accumulate(priced_.clock.begin(), priced_.clock.end(), 0.0) /
              static_cast<double>(std::max<std::size_t>(1, priced_.clock.size()));
  out.allocated_bytes = rank.peak_allocated_bytes;
  out.graph_bytes = rank.graph_bytes;
  out.reserved_bytes = rank.peak_reserved_bytes;
  for (const CapturedTask& task : priced_.tasks) {
    if (!task.on_host && !communicates(task)) out.flop += executed_.price(priced_, event(task)).cost.flop;
  }
  return out;
}

std::vector<CapturedWork> RankReader::work() const {
  std::map<std::tuple<bool, std::uint32_t, std::string, CapturePhase>, CapturedWork> by_place;
  for (std::size_t i = 0; i < priced_.tasks.size(); ++i) {
    const CapturedTask& task = priced_.tasks[i];
    if (task.on_host) continue;
    const CaptureEvent& of = event(task);
    const std::string module = place_in_program(capture_.modules[of.module]);
    CapturedWork& work = by_place[{communicates(task), of.entry, module, of.phase}];
    if (work.calls == 0) {
      work.communicates = communicates(task);
      work.module = module;
      if (const auto line = capture_.lines.find(module); line != capture_.lines.end()) work.line = line->second;
      work.phase = of.phase;
      if (work.communicates) {
        const CapturedCommunication& made = capture_.communication[of.entry];
        work.name = made.kind;
        work.tensors = fmt::format("{} among ranks {}", made.format, group_name(made));
      } else {
        work.name = capture_.operators[of.entry].name;
        work.tensors = tensors_text(capture_.operators[of.entry]);
      }
    }
    ++work.calls;
    work.seconds += to_seconds(executed_.joined.program.duration[executed_.joined.task_of[index_][i]]);
    const CapturedCommunication* made = work.communicates ? &capture_.communication[of.entry] : nullptr;
    work.flop += made != nullptr ? 0 : executed_.price(priced_, of).cost.flop;
    work.bytes += made != nullptr ? std::max(made->in_bytes, made->out_bytes) : executed_.price(priced_, of).cost.bytes;
  }
  std::vector<CapturedWork> out;
  for (auto& [place, work] : by_place) out.push_back(std::move(work));
  return out;
}

void sort_by_seconds(std::vector<CapturedWork>& work) {
  std::stable_sort(work.begin(), work.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
}

std::vector<CapturedWork> by_module(const std::vector<CapturedWork>& work) {
  std::map<std::pair<std::string, CapturePhase>, CapturedWork> modules;
  for (const CapturedWork& each : work) {
    if (each.communicates) continue;
    CapturedWork& module = modules[{each.module, each.phase}];
    module.module = each.module;
    module.line = each.line;
    module.phase = each.phase;
    module.calls += each.calls;
    module.seconds += each.seconds;
    module.flop += each.flop;
    module.bytes += each.bytes;
  }
  std::vector<CapturedWork> out;
  for (auto& [place, module] : modules) out.push_back(std::move(module));
  sort_by_seconds(out);
  return out;
}

// Operators without an entry of the table: "aten::foo (12 calls, 0.3 % of the kernels' time)".
void note_prices(const Capture& capture, const CapturedProgram& executed, std::vector<std::string>& notes) {
  std::map<std::string, std::pair<std::size_t, double>> unknown;
  std::map<std::string, std::string> stand_ins;
  double all_s = 0;
  for (const PricedRank& rank : executed.ranks) {
    for (const CaptureEvent& event : capture.ranks[rank.rank].events) {
      if (event.kind != CaptureEventKind::launch) continue;
      const OperatorPrice& price = executed.price(rank, event);
      const std::string& name = capture.operators[event.entry].name;
      all_s += price.cost.seconds;
      if (!price.figures.empty()) stand_ins[name] = price.figures;
      if (price.known) continue;
      ++unknown[name].first;
      unknown[name].second += price.cost.seconds;
    }
  }
  for (const auto& [name, of] : unknown) {
    notes.push_back(
        fmt::format("{}: hw_profiles/pytorch/operators.yaml does not know it; priced by its bytes as one kernel: {} "
                    "calls, {:.2f} % of "
                    "the kernels' time",
                    name, of.first, all_s > 0 ? 100 * of.second / all_s : 0));
  }
  for (const auto& [name, figures] : stand_ins) {
    notes.push_back(
        fmt::format("{}: the GPU's profile has no figures of this kernel; those of {} stand in for it", name, figures));
  }
}

// A capture does not say whether the program allows TF32 (torch.set_float32_matmul_precision).
void note_wide_products(const Capture& capture, const CapturedProgram& executed, std::vector<std::string>& notes) {
  double all_s = 0;
  double wide_s = 0;
  for (const PricedRank& rank : executed.ranks) {
    for (const CaptureEvent& event : capture.ranks[rank.rank].events) {
      if (event.kind != CaptureEventKind::launch) continue;
      const KernelCost& cost = executed.price(rank, event).cost;
      all_s += cost.seconds;
      const CapturedOperator& op = capture.operators[event.entry];
      const bool wide = cost.activity == Activity::gemm && !op.in.empty() && op.in.front().format == "float32";
      if (wide) wide_s += cost.seconds;
    }
  }
  constexpr double noted = 0.01;
  if (wide_s < noted * all_s || wide_s == 0) return;
  notes.push_back(
      fmt::format("products of float32 are priced in fp32, {:.0f} % of the kernels' time: a capture does not say "
                  "whether the program allows TF32",
                  100 * wide_s / all_s));
}

void note_hardware(const Capture& capture, const Cluster& cluster, std::vector<std::string>& notes) {
  for (std::string& throttled : throttled_gpus(cluster)) notes.push_back(std::move(throttled));
  for (const NodeGroup& group : cluster.groups()) {
    if (group.first_device >= capture.world_size) break;
    const NodeHardware& nodes = group.hardware;
    if (nodes.gpu.name != capture.device) {
      notes.push_back(
          fmt::format("captured for {}, priced on {}: attention kernels are those that PyTorch chooses on {}",
                      capture.device, nodes.gpu.title, capture.device));
    }
    const auto told = std::min<std::int64_t>(nodes.spec.gpus, capture.gpus_per_node);
    if (group.nodes() > 0 && nodes.spec.gpus != capture.gpus_per_node && capture.world_size > told) {
      notes.push_back(fmt::format("the program was told that a node has {} GPUs, and runs on nodes of {}",
                                  capture.gpus_per_node, nodes.spec.gpus));
    }
  }
  if (cluster.gpus() > capture.world_size) {
    notes.push_back(fmt::format("{} of {} GPUs have no rank: their energy and their price do not count",
                                cluster.gpus() - capture.world_size, cluster.gpus()));
  }
}

void note_capture(const Capture& capture, std::vector<std::string>& notes) {
  std::map<std::string, std::int64_t> stated;
  std::size_t alike = 0;
  for (const CapturedRank& rank : capture.ranks) {
    if (rank.same_as >= 0) ++alike;
    for (const auto& [note, count] : rank.notes) stated[note] += count;
  }
  for (const auto& [note, count] : stated) notes.push_back(fmt::format("captured: {} ({} times)", note, count));
  for (const std::string& field : capture.unknown_fields) {
    notes.push_back(fmt::format("the capture has a field '{}' that this version does not know, and leaves out", field));
  }
  const auto absent = static_cast<std::size_t>(capture.world_size) - capture.ranks.size();
  if (absent > 0) {
    notes.push_back(fmt::format("{} of {} ranks are not in the capture; they are taken to be ready whenever others are",
                                absent, capture.world_size));
  }
  if (alike > 0) {
    notes.push_back(fmt::format("{} ranks did what another did, and are taken to be ready when it is", alike));
  }
}

// Returns the seconds of a rank's products, attention and exposed communication that figures of other hardware price.
double borrowed_seconds(const Capture& capture, const CapturedProgram& executed, const PricedRank& rank,
                        const NodeHardware& node, const CapturedTimes& times) {
  double out = borrows_collectives(node) ? times.communication_s : 0;
  for (const CaptureEvent& event : capture.ranks[rank.rank].events) {
    if (event.kind != CaptureEventKind::launch) continue;
    const OperatorPrice& price = executed.price(rank, event);
    const bool product = price.cost.activity == Activity::gemm || price.cost.activity == Activity::attention;
    if (product && borrows_products(node.gpu, price.precision)) out += price.cost.seconds;
  }
  return out;
}

// Returns the share of a rank's step that counts as software that nobody has measured.
double unmeasured_share_of(const CapturePricing& pricing, const GpuSpec& gpu, double exposed) {
  const auto found = pricing.table.measured.find(gpu.architecture);
  const double known = unmeasured_share(found == pricing.table.measured.end() ? 0 : found->second);
  return known + (1 - known) * exposed;
}

void add_range(const Capture& capture, const CapturePricing& pricing, const CapturedProgram& executed,
               CaptureResult& out) {
  if (pricing.ranges == nullptr || !pricing.ranges->known() || out.iteration_s <= 0) return;
  const auto at = [&](Uncertainty of) -> double& { return out.uncertain[static_cast<std::size_t>(of)]; };
  const auto ranks = static_cast<double>(out.ranks.size());
  at(Uncertainty::always) = 1;
  const CapturedRankResult* bound = nullptr;
  for (std::size_t r = 0; r < out.ranks.size(); ++r) {
    const CapturedRankResult& rank = out.ranks[r];
    const NodeHardware& node = pricing.cluster.groups()[executed.ranks[r].group].hardware;
    const double borrowed_s = borrowed_seconds(capture, executed, executed.ranks[r], node, rank.times);
    at(Uncertainty::borrowed) += std::min(1.0, borrowed_s / out.iteration_s) / ranks;
    const double exposed = rank.times.communication_s / out.iteration_s;
    at(Uncertainty::unmeasured) += unmeasured_share_of(pricing, node.gpu, exposed) / ranks;
    const bool slowest = bound == nullptr || rank.host_work_s > bound->host_work_s;
    if (rank.host_work_s * pricing.table.slowest_host > out.iteration_s && slowest) bound = &rank;
  }
  if (bound == nullptr) {
    out.range = under_power_limits(prediction_range(out.iteration_s, out.uncertain, *pricing.ranges), pricing.cluster,
                                   pricing.ranges->limits);
    out.energy = energy_range(out.energy_j, out.iteration_s, out.range, pricing.ranges->power);
    return;
  }
  out.notes.push_back(fmt::format(
      "no range is told: the host of rank {} works for {} of {}, and hosts have been found to take {:g} times "
      "as long, which would bound the step",
      bound->rank, format_seconds(bound->host_work_s), format_seconds(out.iteration_s), pricing.table.slowest_host));
}

// Adds energy and cost of all ranks' GPUs.
void add_costs(const Capture& capture, const CapturePricing& pricing, CaptureResult& out) {
  const Cluster& cluster = pricing.cluster;
  std::int64_t known = 0;
  for (const CapturedRankResult& rank : out.ranks) {
    out.energy_j += rank.energy_j * static_cast<double>(rank.stands_for);
    known += rank.stands_for;
  }
  out.gpus = capture.world_size;
  out.energy_j *= static_cast<double>(out.gpus) / static_cast<double>(known);
  double host_w = 0;
  double usd_per_hour = 0;
  bool priced = true;
  for (const NodeGroup& group : cluster.groups()) {
    const std::int64_t of_node = group.hardware.spec.gpus_of_kind();
    const std::int64_t ranks = std::clamp<std::int64_t>(out.gpus - group.first_device, 0, group.gpus());
    const std::int64_t nodes = group.nodes() == 0 ? 0 : (ranks + of_node - 1) / of_node;
    host_w += static_cast<double>(nodes) * group.hardware.spec.host_power_w.value;
    priced = priced && (ranks == 0 || group.price);
    if (group.price) usd_per_hour += static_cast<double>(ranks) * group.price->usd_per_gpu_hour.value;
  }
  if (priced) out.cost_usd = usd_per_hour * out.iteration_s / kSecondsPerHour;
  out.host_power_w = host_w;
  out.facility =
      facility_use(cluster.facility(), {out.energy_j, host_w, static_cast<double>(out.gpus), out.iteration_s});
}

}  // namespace

std::span<const CapturedTimePart> captured_time_parts() { return kParts; }

CaptureResult capture_result(const Capture& capture, const CapturePricing& pricing, const CapturedProgram& executed) {
  CaptureResult out;
  out.iteration_s = to_seconds(executed.timeline.makespan);
  out.events = executed.timeline.events;
  out.platform_bytes = pricing.framework.memory.platform_bytes;
  const std::map<std::int64_t, std::int64_t> alike = ranks_alike(capture);
  std::size_t longest = 0;
  double longest_s = -1;
  double fullest = -1;
  for (std::size_t r = 0; r < executed.ranks.size(); ++r) {
    const GpuSpec& gpu = pricing.cluster.groups()[executed.ranks[r].group].hardware.gpu;
    CapturedRankResult rank = RankReader(capture, executed, r).result();
    rank.gpu = gpu.name;
    rank.stands_for = alike.at(rank.rank);
    rank.memory_bytes = rank.reserved_bytes + out.platform_bytes;
    rank.needed_bytes = rank.allocated_bytes + rank.graph_bytes + out.platform_bytes;
    rank.capacity_bytes = gpu.memory_bytes.value;
    rank.fits = rank.needed_bytes <= rank.capacity_bytes;
    rank.energy_j = executed.ranks[r].kernel_energy_j + gpu.blocked_w.value * out.iteration_s;
    out.fits = out.fits && rank.fits;
    out.flop += rank.flop / static_cast<double>(executed.ranks.size());
    double kernels_s = 0;
    for (std::size_t part = 0; part < 4; ++part) kernels_s += rank.times.*kParts[part].seconds;
    if (kernels_s > longest_s) longest = r;
    longest_s = std::max(longest_s, kernels_s);
    if (rank.needed_bytes / rank.capacity_bytes > fullest) out.fullest = r;
    fullest = std::max(fullest, rank.needed_bytes / rank.capacity_bytes);
    for (const CapturedTimePart& part : kParts) {
      out.mean.*part.seconds += rank.times.*part.seconds / static_cast<double>(executed.ranks.size());
    }
    out.ranks.push_back(rank);
  }
  add_costs(capture, pricing, out);
  out.longest = out.ranks[longest].rank;
  out.work = RankReader(capture, executed, longest).work();
  sort_by_seconds(out.work);
  out.modules = by_module(out.work);
  out.notes = executed.notes;
  note_prices(capture, executed, out.notes);
  note_wide_products(capture, executed, out.notes);
  note_hardware(capture, pricing.cluster, out.notes);
  note_capture(capture, out.notes);
  add_range(capture, pricing, executed, out);
  return out;
}

}  // namespace mirfak

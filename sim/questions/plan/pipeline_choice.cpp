#include "plan/pipeline_choice.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

namespace mirfak {

void PipelineChoice::apply_to(Strategy& strategy, std::span<const ReplicaClass> classes) const {
  strategy.virtual_pipeline = chunks;
  strategy.schedule = schedule;
  strategy.recompute_layers = recompute_layers.layers;
  strategy.recompute_method = recompute_layers.method;
  strategy.layer_split.clear();
  const auto all_same = [](const std::vector<int>& numbers) {
    return std::adjacent_find(numbers.begin(), numbers.end(), std::not_equal_to<>()) == numbers.end();
  };
  if (!all_same(*layers) || first_fewer > 0 || last_fewer > 0) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
      strategy.layer_split.insert(strategy.layer_split.end(), layers->begin(), layers->end());
    }
    strategy.layer_split.front() -= first_fewer;
    strategy.layer_split.back() -= last_fewer;
  }
  strategy.replica_microbatches.clear();
  if (all_same(*microbatches)) return;
  strategy.replica_microbatches.assign(static_cast<std::size_t>(strategy.data), 0);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    for (const int replica : classes[i].replicas) {
      strategy.replica_microbatches[static_cast<std::size_t>(replica)] = (*microbatches)[i];
    }
  }
}

std::vector<int> PipelineChoice::begins() const {
  std::vector<int> out;
  out.reserve(layers->size() + 1);
  out.push_back(0);
  for (const int of_stage : *layers) out.push_back(out.back() + of_stage);
  return out;
}

LayerRange PipelineChoice::layers_of(std::span<const int> begins, int stage, int chunk) const {
  const auto place = static_cast<std::size_t>(stage);
  if (placement) {
    const std::int64_t even = layers->front();
    return {placement->part_of(stage, chunk) * even, even};
  }
  LayerRange out{std::int64_t{chunk} * begins.back() + begins[place], (*layers)[place]};
  const bool first = stage == 0 && chunk == 0;
  const bool last = place + 1 == layers->size() && chunk + 1 == chunks;
  if (first) out.count -= first_fewer;
  if (!first) out.first -= first_fewer;
  if (last) out.count -= last_fewer;
  return out;
}

bool PipelineChoice::holds_embedding(int stage, int chunk) const {
  return placement ? placement->part_of(stage, chunk) == 0 : stage == 0 && chunk == 0;
}

bool PipelineChoice::holds_head(int stage, int chunk) const {
  if (placement) return placement->part_of(stage, chunk) + 1 == placement->parts();
  return static_cast<std::size_t>(stage) + 1 == layers->size() && chunk + 1 == chunks;
}

bool PipelineChoice::plain() const { return !placement && !schedule_of(schedule).splits; }

namespace {

using Row = std::vector<RecomputedLayers>;

// Lists the choices of one number of stages.
class Lister {
 public:
  Lister(const StrategySpace& space, std::int64_t layers, std::span<const int> hardware_of, Recompute recompute,
         std::span<const int> most)
      : space_(space), layers_(layers), hardware_of_(hardware_of), recompute_(recompute), most_(most) {
    // 0 means all layers.
    numbers_ = space.recompute_layers;
    std::sort(numbers_.begin(), numbers_.end(), [](int a, int b) { return a != 0 && (b == 0 || a < b); });
  }

  void add_splits(PipelineChoice choice);
  // Adds the choice in which all chunks of a placement are equally long.
  void add_even(PipelineChoice choice);
  std::vector<PipelineChoice> take() { return std::move(out_); }

 private:
  bool has(RecomputeMethod method) const {
    return std::find(space_.recompute_method.begin(), space_.recompute_method.end(), method) !=
           space_.recompute_method.end();
  }
  std::vector<int> most_of_chunks(const PipelineChoice& choice) const;
  std::shared_ptr<const Row> row_of(const PipelineChoice& choice);
  Row row_of(const std::vector<int>& lengths) const;

  const StrategySpace& space_;
  std::int64_t layers_;
  std::span<const int> hardware_of_;
  Recompute recompute_;
  std::span<const int> most_;
  std::vector<int> numbers_;
  std::map<std::vector<int>, std::shared_ptr<const Row>> rows_;  // by the lengths of chunks
  std::vector<PipelineChoice> out_;
};

// Returns the most layers of a chunk of each stage, where the first and the last chunk have fewer; empty: any number.
std::vector<int> Lister::most_of_chunks(const PipelineChoice& choice) const {
  std::vector<int> out;
  for (std::size_t stage = 0; choice.plain() && stage < most_.size(); ++stage) {
    const int fewer = (stage == 0 ? choice.first_fewer : 0) + (stage + 1 == most_.size() ? choice.last_fewer : 0);
    out.push_back((most_[stage] + fewer) / choice.chunks);
  }
  return out;
}

void Lister::add_splits(PipelineChoice choice) {
  const std::int64_t layers = layers_ + choice.first_fewer + choice.last_fewer;
  if (layers % choice.chunks != 0) return;
  const auto per_round = static_cast<int>(layers / choice.chunks);
  const bool fixed = space_.stages == StageShapes::fixed && !space_.others.layer_split.empty();
  const std::vector<LayerSplit> splits =
      fixed ? std::vector<LayerSplit>{std::make_shared<const std::vector<int>>(space_.others.layer_split)}
            : layer_splits(hardware_of_, per_round, space_.uneven_layers, most_of_chunks(choice));
  for (const LayerSplit& split : splits) {
    if (split->front() < choice.first_fewer || split->back() < choice.last_fewer) continue;
    choice.layers = split;
    choice.row = row_of(choice);
    if (choice.row->empty()) continue;
    choice.recompute_layers = choice.row->front();
    out_.push_back(choice);
  }
}

void Lister::add_even(PipelineChoice choice) {
  const int parts = choice.placement->parts();
  if (layers_ % parts != 0) return;
  choice.layers = std::make_shared<const std::vector<int>>(hardware_of_.size(), static_cast<int>(layers_ / parts));
  choice.row = row_of(choice);
  if (choice.row->empty()) return;
  choice.recompute_layers = choice.row->front();
  out_.push_back(choice);
}

std::shared_ptr<const Row> Lister::row_of(const PipelineChoice& choice) {
  std::vector<int> lengths = *choice.layers;
  lengths.insert(lengths.end(), {lengths.front() - choice.first_fewer, lengths.back() - choice.last_fewer});
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  std::shared_ptr<const Row>& row = rows_[lengths];
  if (!row) row = std::make_shared<const Row>(row_of(lengths));
  return row;
}

Row Lister::row_of(const std::vector<int>& lengths) const {
  if (recompute_ == Recompute::none) return {{}};
  // Numbers larger than a chunk's number of layers make no difference.
  const int max_layers = lengths.back();
  Row out;
  for (const int layers : numbers_) {
    if (layers < max_layers && has(RecomputeMethod::block)) out.push_back({layers, RecomputeMethod::block});
  }
  if (recompute_ != Recompute::full || !has(RecomputeMethod::uniform)) return out;
  std::vector<int> known;
  for (const int layers : numbers_) {
    const bool single = layers == 1 && !out.empty() && out.back().layers == 0;  // all layers, one by one
    if (layers == 0 || layers > max_layers || single) continue;
    std::vector<int> groups;
    for (const int of_chunk : lengths) groups.push_back((of_chunk + layers - 1) / layers);
    if (groups != known) out.push_back({layers, RecomputeMethod::uniform});
    known = std::move(groups);
  }
  return out;
}

}  // namespace

std::vector<PipelineChoice> pipeline_choices(const StrategySpace& space, std::int64_t layers,
                                             std::span<const int> hardware_of, Recompute recompute,
                                             std::span<const int> most) {
  Lister lister(space, layers, hardware_of, recompute, most);
  for (const ScheduleId schedule : space.schedule) {
    const Schedule& order = schedule_of(schedule);
    const bool interleaved = order.in_groups;
    if (interleaved && hardware_of.size() == 1) continue;
    const PipelineShape shape{static_cast<int>(hardware_of.size()), std::max(1, order.chunks), 1, 1, 0};
    const std::optional<Unfit> unfit = order.unfit(shape);
    if (!interleaved && unfit && unfit->size == Unfit::Size::stages) continue;
    if (order.chunks > 1 || !order.looped) {
      // These schedules fix the number of chunks of a stage.
      PipelineChoice choice;
      choice.chunks = order.chunks;
      choice.schedule = schedule;
      choice.placement = std::make_shared<const Placement>(order.placement(shape));
      lister.add_even(choice);
      continue;
    }
    for (const int chunks : space.virtual_pipeline) {
      if ((chunks > 1) != interleaved) continue;
      // A single chunk has all layers of its stage.
      const int max_fewer = chunks > 1 ? space.uneven_end_chunks : 0;
      for (int first = 0; first <= max_fewer; ++first) {
        for (int last = 0; last <= max_fewer; ++last) {
          PipelineChoice choice;
          choice.chunks = chunks;
          choice.schedule = schedule;
          choice.first_fewer = first;
          choice.last_fewer = last;
          lister.add_splits(choice);
        }
      }
    }
  }
  return lister.take();
}

}  // namespace mirfak

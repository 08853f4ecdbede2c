#include "plan/layer_splits.hpp"

#include <algorithm>
#include <cstddef>

namespace mirfak {

namespace {

// Stages of one kind of hardware.
struct Kind {
  int hardware = 0;
  int stages = 0;
  int layers = 0;
  int most = 0;  // layers of a stage, before the ends have fewer
};

class Splitter {
 public:
  Splitter(std::span<const int> hardware_of, std::span<const int> most) : hardware_of_(hardware_of), most_(most) {
    for (const int hardware : hardware_of) {
      const auto known =
          std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& k) { return k.hardware == hardware; });
      if (known == kinds_.end())
        kinds_.push_back({hardware, 1, 0});
      else
        ++known->stages;
    }
  }

  // `first` and `last`: number of layers that the ends have fewer.
  void add_all(int layers, int first, int last) {
    first_ = first;
    last_ = last;
    for (Kind& kind : kinds_) kind.most = most_layers(kind, layers + first + last);
    choose(0, layers + first + last);
  }

  std::vector<LayerSplit> take() { return std::move(out_); }

 private:
  // Returns the most layers that every stage of a kind can have, of `layers` in all.
  int most_layers(const Kind& kind, int layers) const {
    int most = layers;
    for (std::size_t stage = 0; stage < most_.size(); ++stage) {
      if (hardware_of_[stage] != kind.hardware) continue;
      const int fewer = (stage == 0 ? first_ : 0) + (stage + 1 == most_.size() ? last_ : 0);
      most = std::min(most, most_[stage] + fewer);
    }
    return most;
  }

  // Chooses the layers of the kinds from `index` on; `left` layers remain in all.
  void choose(std::size_t index, int left) {
    Kind& kind = kinds_[index];
    if (index + 1 < kinds_.size()) {
      int others = 0;  // the most that the kinds after this one hold
      for (std::size_t after = index + 1; after < kinds_.size(); ++after) {
        others += kinds_[after].most * kinds_[after].stages;
      }
      const int fewest = std::max(1, (left - others + kind.stages - 1) / kind.stages);
      for (kind.layers = fewest; kind.layers <= kind.most && kind.layers * kind.stages < left; ++kind.layers)
        choose(index + 1, left - kind.layers * kind.stages);
      return;
    }
    if (left % kind.stages != 0) return;
    kind.layers = left / kind.stages;
    if (kind.layers <= kind.most) add();
  }

  void add() {
    auto split = std::make_shared<std::vector<int>>();
    for (const int hardware : hardware_of_) {
      split->push_back(
          std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& k) { return k.hardware == hardware; })->layers);
    }
    split->front() -= first_;
    split->back() -= last_;
    if (*std::min_element(split->begin(), split->end()) >= 1) out_.push_back(std::move(split));
  }

  std::span<const int> hardware_of_;
  std::span<const int> most_;
  std::vector<Kind> kinds_;
  int first_ = 0;
  int last_ = 0;
  std::vector<LayerSplit> out_;
};

// Returns true if fewer layers at the ends make a different split. An end that is alone on its hardware can have any
// number of layers anyway, and of two stages alike only one may have fewer.
bool distinct(std::span<const int> hardware_of, int first, int last) {
  const auto alone = [&](int hardware) { return std::count(hardware_of.begin(), hardware_of.end(), hardware) == 1; };
  if (first > 0 && alone(hardware_of.front())) return false;
  if (last > 0 && alone(hardware_of.back())) return false;
  const bool only_ends = std::count(hardware_of.begin(), hardware_of.end(), hardware_of.front()) == 2;
  return !(first > 0 && last > 0 && only_ends && hardware_of.front() == hardware_of.back());
}

}  // namespace

std::vector<LayerSplit> layer_splits(std::span<const int> hardware_of, int layers, int uneven,
                                     std::span<const int> most) {
  Splitter splitter(hardware_of, most);
  for (int first = 0; first <= uneven; ++first) {
    for (int last = 0; last <= uneven; ++last) {
      if (distinct(hardware_of, first, last)) splitter.add_all(layers, first, last);
    }
  }
  return splitter.take();
}

}  // namespace mirfak

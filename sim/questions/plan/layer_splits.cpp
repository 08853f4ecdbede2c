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
};

class Splitter {
 public:
  explicit Splitter(std::span<const int> hardware_of) : hardware_of_(hardware_of) {
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
    choose(0, layers + first + last);
  }

  std::vector<LayerSplit> take() { return std::move(out_); }

 private:
  // Chooses the layers of the kinds from `index` on; `left` layers remain in all.
  void choose(std::size_t index, int left) {
    Kind& kind = kinds_[index];
    if (index + 1 < kinds_.size()) {
      for (kind.layers = 1; kind.layers * kind.stages < left; ++kind.layers)
        choose(index + 1, left - kind.layers * kind.stages);
      return;
    }
    if (left % kind.stages != 0) return;
    kind.layers = left / kind.stages;
    add();
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

std::vector<LayerSplit> layer_splits(std::span<const int> hardware_of, int layers, int uneven) {
  Splitter splitter(hardware_of);
  for (int first = 0; first <= uneven; ++first) {
    for (int last = 0; last <= uneven; ++last) {
      if (distinct(hardware_of, first, last)) splitter.add_all(layers, first, last);
    }
  }
  return splitter.take();
}

}  // namespace mirfak

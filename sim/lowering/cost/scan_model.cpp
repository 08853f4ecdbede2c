#include "cost/scan_model.hpp"

namespace mirfak {

namespace {

constexpr double kWideBytes = 4;  // states, scores and decays are kept in fp32

// Sizes of the tensors that the kernels read and write, in bytes, each tensor once.
class ScanTensors {
 public:
  ScanTensors(const ScanShape& shape, double element_bytes) : s_(shape), element_(element_bytes) {}

  double x() const { return element_ * s_.batch * s_.tokens * s_.heads * s_.width; }
  double vectors() const { return element_ * s_.batch * s_.tokens * s_.groups * s_.state; }  // B or C
  double decays() const { return kWideBytes * s_.batch * s_.tokens * s_.heads; }
  double scores() const { return kWideBytes * s_.batch * s_.tokens * s_.chunk * s_.groups; }
  double wide_states() const { return kWideBytes * states(); }
  double narrow_states() const { return element_ * states(); }

 private:
  double states() const { return s_.batch * s_.chunks() * s_.heads * s_.width * s_.state; }

  const ScanShape& s_;
  double element_;
};

}  // namespace

std::vector<ScanKernel> scan_kernels(const ScanShape& s, double element_bytes, bool backward) {
  const ScanTensors t(s, element_bytes);
  const double of_groups = s.batch * s.chunks() * s.groups;
  const double of_heads = s.batch * s.chunks() * s.heads;
  const ScanKernel steps{{}, 2 * t.decays()};
  const ScanKernel scores{{of_groups, s.chunk, s.chunk, s.state}, 2 * t.vectors() + t.scores()};
  const ScanKernel states{{of_heads, s.state, s.width, s.chunk}, t.x() + t.vectors() + t.decays() + t.wide_states()};
  const ScanKernel recurrence{{}, t.wide_states() + t.narrow_states()};
  if (!backward) {
    const double moved = 2 * t.x() + t.vectors() + t.decays() + t.scores() + t.narrow_states();
    return {steps, scores, states, recurrence, {{of_heads, s.chunk, s.width, s.chunk + s.state}, moved}};
  }
  const double with_gradient = 2 * t.x() + t.vectors() + t.decays() + t.narrow_states();
  return {
      steps,
      scores,
      states,
      recurrence,
      {{of_heads, s.state, s.width, s.chunk}, t.x() + t.vectors() + t.decays() + t.wide_states()},    // d states
      {{}, 2 * t.wide_states() + t.narrow_states()},                                                  // recurrence
      {{of_heads, s.chunk, s.width, s.chunk + s.state}, with_gradient + t.x() + t.scores()},          // d x
      {{of_heads, s.chunk, s.state, s.width}, t.x() + t.vectors() + t.decays() + t.narrow_states()},  // d B, by x
      {{of_heads, s.chunk, s.state, s.width}, t.x() + t.vectors() + t.decays() + t.narrow_states()},  // d C, by y
      {{of_heads, s.chunk, s.chunk, s.width}, 2 * t.x() + t.decays() + t.scores()},                   // d scores
      {{of_groups, s.chunk, s.state, s.chunk}, t.scores() + 2 * t.vectors()},                         // d B
      {{of_groups, s.chunk, s.state, s.chunk}, t.scores() + 2 * t.vectors()},                         // d C
      {{}, 3 * t.decays()},                                                                           // d steps
  };
}

}  // namespace mirfak

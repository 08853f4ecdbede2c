#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace mirfak::test {

// Decides which of several choices a draw takes: from a random engine, or from the bytes of a fuzzer's input, so that a
// fuzzer that changes a byte changes one choice.
class Choices {
 public:
  virtual ~Choices() = default;
  // Returns a number below `count`, which is at least one.
  virtual std::size_t below(std::size_t count) = 0;

  bool chance(int percent) { return below(100) < static_cast<std::size_t>(percent); }
  template <typename T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }
};

// The same choices for the same seed on every machine: distributions of the standard library differ between its
// implementations, the engine does not.
class RandomChoices : public Choices {
 public:
  explicit RandomChoices(std::uint32_t seed) : engine_(seed) {}
  std::size_t below(std::size_t count) override { return engine_() % count; }

 private:
  std::mt19937 engine_;
};

// One byte for each choice; the first choice of all once the bytes are used up.
class ByteChoices : public Choices {
 public:
  ByteChoices(const std::uint8_t* bytes, std::size_t size) : next_(bytes), end_(bytes + size) {}
  std::size_t below(std::size_t count) override { return next_ == end_ ? 0 : *next_++ % count; }

 private:
  const std::uint8_t* next_;
  const std::uint8_t* end_;
};

// Returns the text of a scenario over all models, nodes, fabrics, frameworks, schedules and precisions that mirfak
// ships, with keys that rarely meet: the sizes of its strategy divide those of its model, the rest is left to chance.
// Not every draw can run; those that can have at most 64 microbatches for each replica.
std::string drawn_scenario(Choices& choices);

}  // namespace mirfak::test

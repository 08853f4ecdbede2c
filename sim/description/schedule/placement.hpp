#pragma once

#include <cstdint>
#include <vector>

namespace mirfak {

// Chunk of a stage.
struct Place {
  std::int32_t stage = 0;
  std::int32_t chunk = 0;

  friend auto operator<=>(const Place&, const Place&) = default;
};

// Placement of the parts of a model. A pipeline cuts a model into consecutive parts, part 0 first, and every chunk of a
// stage is one part. With p = 4 stages, by stage from left to right:
//
//   looped, 2 chunks    0 1 2 3    4 5 6 7     interleaved schedules: arXiv 2104.04473
//   vee                 0 1 2 3    7 6 5 4     the last part comes back to the first stage: arXiv 2405.15362
//   both ways           0 1 2 3    3 2 1 0     every part is held twice, microbatches enter at both ends: DeepSeek-V3
//
// If a part is held twice, one of its holders runs a given microbatch. Every stage has equally many chunks, except in a
// placement from a file.
class Placement {
 public:
  static Placement looped(int stages, int chunks);
  static Placement vee(int stages);
  // Microbatches with even numbers enter at the first stage, those with odd numbers at the last.
  static Placement both_ways(int stages);
  // Builds a placement from a file. `parts`: parts that the chunks of every stage hold. `routes`: stage that runs each
  // microbatch and part, and holds the part; microbatch m of part k is at m * parts + k.
  Placement(std::vector<std::vector<std::int32_t>> parts, const std::vector<std::int32_t>& routes);

  int stages() const { return static_cast<int>(parts_.size()); }
  int chunks(int stage) const { return static_cast<int>(parts_[static_cast<std::size_t>(stage)].size()); }
  int max_chunks() const;
  int parts() const { return part_count_; }
  int part_of(int stage, int chunk) const {
    return parts_[static_cast<std::size_t>(stage)][static_cast<std::size_t>(chunk)];
  }
  // Returns the place at which a microbatch runs a part, 0 <= part < parts().
  Place place_of(int part, int microbatch) const {
    const auto route = static_cast<std::size_t>(microbatch) % route_count_;
    return places_[route * static_cast<std::size_t>(part_count_) + static_cast<std::size_t>(part)];
  }
  // Returns the other places that hold the part of `place`.
  std::vector<Place> copies_of(const Place& place) const;
  // Returns the stages that hold a part, ascending.
  std::vector<std::int32_t> holders(int part) const;
  bool holds_twice() const { return holds_twice_; }
  bool is_looped() const { return looped_; }
  // Number of routes: microbatches m and m + routes() take the same route.
  int routes() const { return static_cast<int>(route_count_); }

  friend bool operator==(const Placement&, const Placement&) = default;

 private:
  Placement() = default;

  int part_count_ = 0;
  bool holds_twice_ = false;
  bool looped_ = true;
  std::size_t route_count_ = 1;
  std::vector<std::vector<std::int32_t>> parts_;
  std::vector<Place> places_;
};

}  // namespace mirfak

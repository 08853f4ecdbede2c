#include "scenario/image_counts.hpp"

#include "base/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace mirfak {

namespace {

constexpr std::int64_t kMostImages = 100'000;  // of a sequence
constexpr std::size_t kMaxCounts = 10'000;

std::int64_t read_images(const std::string& key, const Node& at) {
  std::int64_t images = 0;
  const auto [stop, error] = std::from_chars(key.data(), key.data() + key.size(), images);
  if (error != std::errc() || stop != key.data() + key.size() || images < 0 || images > kMostImages) {
    at.fail(fmt::format("expected a number of images from 0 to {} as key, found '{}'", kMostImages, key),
            "{0: 5, 1: 3} is five sequences without an image for each three with one");
  }
  return images;
}

}  // namespace

void read_image_counts(const Node& node, SequenceImages& images) {
  images = {};
  if (!node.is_mapping()) {
    images.mean = node.as_number(0, static_cast<double>(kMostImages));
    return;
  }
  Mapping counts(node);
  double sequences = 0;
  double sum = 0;
  for (const std::string& key : counts.keys()) {
    const Node count = counts.require(key);
    images.counts.push_back({read_images(key, count), count.as_number(1e-12, 1e15)});
    sequences += images.counts.back().count;
    sum += images.counts.back().count * static_cast<double>(images.counts.back().images);
  }
  if (images.counts.empty()) node.fail("expected at least one number of images");
  if (images.counts.size() > kMaxCounts) node.fail(fmt::format("expected at most {} numbers of images", kMaxCounts));
  images.mean = sum / sequences;
  std::sort(images.counts.begin(), images.counts.end(),
            [](const ImageCount& a, const ImageCount& b) { return a.images < b.images; });
}

Value image_counts_value(const SequenceImages& images) {
  if (images.counts.empty()) return scalar_value(images.mean);
  Value out = mapping_value();
  for (const ImageCount& of : images.counts) {
    out.fields.push_back({fmt::format("{}", of.images), scalar_value(of.count)});
  }
  return out;
}

}  // namespace mirfak

#include "model/model_reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace mirfak {

namespace {

std::int64_t size_or(const std::optional<Node>& stated, std::int64_t fallback, std::int64_t maximum) {
  return stated ? stated->as_integer(1, maximum) : fallback;
}

}  // namespace

void read_heads(ModelSpec& model, const Node& file, const HeadFields& fields) {
  model.heads = size_or(fields.heads, 0, kMaxHeads);
  if (model.heads == 0) file.fail("the number of attention heads is missing", "state it as heads");
  const Node& at_heads = fields.heads ? *fields.heads : file;

  const std::int64_t default_kv = fields.default_kv_heads > 0 ? fields.default_kv_heads : model.heads;
  model.kv_heads = size_or(fields.kv_heads, default_kv, kMaxHeads);
  if (model.heads % model.kv_heads != 0) {
    (fields.kv_heads ? *fields.kv_heads : at_heads)
        .fail(fmt::format("expected a divisor of the {} attention heads, found {} key-value heads", model.heads,
                          model.kv_heads),
              "every key-value head serves the same number of query heads");
  }

  model.head_dim = size_or(fields.head_dim, 0, kMaxHeadDim);
  if (model.head_dim > 0) return;
  if (model.hidden % model.heads != 0) {
    at_heads.fail(fmt::format("expected a divisor of the hidden size {}, found {} heads", model.hidden, model.heads),
                  "or state head_dim");
  }
  model.head_dim = model.hidden / model.heads;
}

std::optional<SlidingWindow> sliding_window_of(const std::vector<bool>& windowed, std::int64_t tokens) {
  const auto fits = [&](const SlidingWindow& window) {
    ModelSpec model;
    model.window = window;
    for (std::size_t layer = 0; layer < windowed.size(); ++layer) {
      if ((kind_of_layer(model, static_cast<std::int64_t>(layer)).window > 0) != windowed[layer]) return false;
    }
    return true;
  };
  const auto leading = std::find(windowed.begin(), windowed.end(), true) - windowed.begin();
  for (std::int64_t every = 0; every <= static_cast<std::int64_t>(windowed.size()); ++every) {
    for (const std::int64_t first : {std::int64_t{0}, std::int64_t{leading}}) {
      const SlidingWindow window{tokens, every, first};
      if (fits(window)) return window;
    }
  }
  return std::nullopt;
}

void check_groups(const MixtureOfExperts& mixture, const Node& groups) {
  if (mixture.experts % mixture.groups != 0) {
    groups.fail(fmt::format("expected a divisor of the {} experts, found {} groups", mixture.experts, mixture.groups),
                "all groups are equally large");
  }
  const std::int64_t reachable = mixture.groups_per_token * (mixture.experts / mixture.groups);
  if (mixture.per_token > reachable) {
    groups.fail(fmt::format("a token cannot visit {} of the {} experts in {} of {} groups", mixture.per_token,
                            reachable, mixture.groups_per_token, mixture.groups),
                "let it reach more groups");
  }
}

void check_parts(const ModelSpec& model, const Node& file) {
  const MixtureOfExperts& mixture = model.mixture;
  if (mixture.per_token > mixture.experts) {
    file.fail(fmt::format("a token cannot visit {} of {} experts", mixture.per_token, mixture.experts), {});
  }
  const LatentAttention& latent = model.latent;
  if (latent.key_value_rank > 0 && latent.position_dim >= model.head_dim) {
    file.fail(fmt::format("the part of a head that positions turn ({}) must be smaller than head_dim ({})",
                          latent.position_dim, model.head_dim),
              "head_dim counts both parts of a query: content and position");
  }
}

std::string name_from_path(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string stem = file.stem().string();
  const std::string folder = file.parent_path().filename().string();
  const bool named_by_folder = stem == "config" && !folder.empty() && folder != "." && folder != "..";
  return named_by_folder ? folder : stem;
}

}  // namespace mirfak

#include "cluster/profiles.hpp"

namespace mirfak {

namespace {

constexpr double kMaxUsdPerHour = 1000;

void read_offer(ProfileFile& file, const Node& node, const std::string& provider, std::vector<PriceSpec>& prices) {
  Mapping mapping(node);
  PriceSpec price;
  price.provider = provider;
  price.gpu = mapping.require("gpu").as_string();
  price.instance = mapping.string_or("instance", "");
  price.date = mapping.require("date").as_string();
  const std::size_t before = prices.size();
  for (std::size_t kind = 0; kind < price_kind_names().size(); ++kind) {
    if (const std::optional<Node> figure = mapping.find(price_kind_names()[kind])) {
      price.kind = static_cast<PriceKind>(kind);
      price.usd_per_gpu_hour = file.figure_at(*figure, 0.001, kMaxUsdPerHour);
      prices.push_back(price);
    }
  }
  mapping.finish();
  if (prices.size() == before) node.fail("an offer without a price", "expected `on-demand`, `spot` or both");
}

}  // namespace

std::vector<PriceSpec> read_price_profile(ProfileFile& file) {
  file.title();
  std::vector<PriceSpec> prices;
  for (const Node& offer : file.root().require("offers").as_items()) read_offer(file, offer, file.name(), prices);
  file.finish();
  return prices;
}

}  // namespace mirfak

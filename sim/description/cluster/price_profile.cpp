#include "base/file_reference.hpp"
#include "cluster/profiles.hpp"

#include <cctype>

namespace mirfak {

namespace {

constexpr double kMinUsdPerHour = 0.001;
constexpr double kMaxUsdPerHour = 1000;

void read_offer(ProfileFile& file, const Node& node, const std::string& provider, std::vector<PriceSpec>& prices) {
  Mapping mapping(node);
  PriceSpec price;
  price.provider = provider;
  price.gpu = mapping.require("gpu").as_string();
  price.instance = mapping.string_or("instance", "");
  price.region = mapping.string_or("region", "");
  price.date = mapping.require("date").as_string();
  const std::size_t before = prices.size();
  for (std::size_t kind = 0; kind < price_kind_names().size(); ++kind) {
    if (const std::optional<Node> figure = mapping.find(price_kind_names()[kind])) {
      price.kind = static_cast<PriceKind>(kind);
      price.usd_per_gpu_hour = file.figure_at(*figure, kMinUsdPerHour, kMaxUsdPerHour);
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

std::optional<PriceSpec> stated_price(const Node& node, const std::string& gpu) {
  const std::string text = node.as_string();
  const std::size_t sign = text.find_first_not_of("+-$");
  const bool number = sign != std::string::npos && std::isdigit(static_cast<unsigned char>(text[sign])) != 0;
  if (node.value().quoted || !number || FileReference(text).is_path()) return std::nullopt;
  PriceSpec price;
  price.gpu = gpu;
  price.usd_per_gpu_hour = {node.as_number(kMinUsdPerHour, kMaxUsdPerHour), "the scenario"};
  return price;
}

}  // namespace mirfak

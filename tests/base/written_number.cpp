#include "base/written_number.hpp"

#include "base/document.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mirfak;

namespace {

double number_at(const std::string& key, const std::string& value) {
  const Document document = Document::from_text(key + ": " + value + "\n", "s.yaml");
  Mapping mapping{Node(document)};
  return mapping.require(key).as_number(-1e30, 1e30);
}

}  // namespace

TEST_CASE("a number has the units of its key") {
  CHECK(number_at("tokens", "15T") == 15e12);
  CHECK(number_at("tokens", "1.5 B") == 1.5e9);
  CHECK(number_at("restart_s", "10min") == 600);
  CHECK(number_at("write_s", "250 ms") == 0.25);
  CHECK(number_at("deadline_days", "2 weeks") == 14);
  CHECK(number_at("power_cap_w", "2MW") == 2e6);
  CHECK(number_at("memory_bytes", "80GB") == 80e9);
  CHECK(number_at("memory_bytes", "80GiB") == 80.0 * 1024 * 1024 * 1024);
  CHECK(number_at("bytes_per_s", "400Gb/s") == 50e9);
  CHECK(number_at("max_reduce_bytes_per_s", "50 GB/s") == 50e9);
  CHECK(number_at("clock_mhz", "1.2GHz") == doctest::Approx(1200));
  CHECK(number_at("price", "$2.10") == 2.10);
  CHECK(number_at("budget_usd", "$3M") == 3e6);
  CHECK(number_at("sequence_length", "8k") == 8192);
  CHECK(number_at("global_batch", "1k") == 1000);
  CHECK(number_at("tokens", "'15T'") == 15e12);  // as programs write it
}

TEST_CASE("plain numbers stay what they were") {
  CHECK(number_at("tokens", "1e12") == 1e12);
  CHECK(number_at("tokens", "+3") == 3);
  CHECK(number_at("price", "2.1") == 2.1);
  CHECK_THROWS_AS(number_at("tokens", "'3'"), Error);
}

TEST_CASE("a unit of another kind is refused, with the units of the key") {
  CHECK_THROWS_WITH_AS(number_at("restart_s", "10GB"), doctest::Contains("expected a number, found '10GB'"), Error);
  CHECK_THROWS_WITH_AS(number_at("restart_s", "10GB"), doctest::Contains("units of this key: ns, us, ms, s"), Error);
  CHECK_THROWS_AS(number_at("tokens", "$5"), Error);
  CHECK_THROWS_AS(number_at("tokens", "15 TB"), Error);
  CHECK_THROWS_AS(number_at("tokens", "T"), Error);
  CHECK_THROWS_AS(number_at("tokens", "1e400T"), Error);
  CHECK_THROWS_AS(number_at("rate_per_s", "5k"), Error);
}

TEST_CASE("the key is the last name of a path") {
  CHECK(written_number("1200MHz", "cluster.nodes[0].clock_mhz") == 1200);
  CHECK(written_number("8k", "search.sequence_length[12]") == 8192);
  CHECK(written_number("8s", "cluster.nodes[0]") == std::nullopt);
  CHECK(written_number("25GB/s", "cluster.nodes[0].disk_read_bandwidth") == 25e9);
  CHECK(written_number("400Gb/s", "operations.checkpoint.storage_bandwidth") == 50e9);
  CHECK(units_of_written_number("cluster.power_cap_w") == "W, kW, MW, GW");
  CHECK(units_of_written_number("training.tokens") == "k, K, M, B, G, T");
}

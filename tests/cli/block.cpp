// mirfak block: what follows from the text of a block.

#include "program.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>

using namespace mirfak::test;

// A Llama 2 7B layer: 4 h^2 + 3 h f + 2 h parameters; 2 FLOP a weight and token, and attention's 4 s h.
TEST_CASE("block --format json has parameters, FLOPs and kept bytes") {
  const Finished finished = run({"block", "llama", "--format", "json"});
  REQUIRE(finished.status == 0);
  const auto block = nlohmann::json::parse(finished.out);
  const double h = 4096;
  const double f = 11008;
  CHECK(block["parameters"] == 4 * h * h + 3 * h * f + 2 * h);
  CHECK(block["forward_flop"] == 2 * 4096 * (4 * h * h + 3 * h * f + 2 * 4096 * h));
  CHECK(block["kept_bytes"] > 0);
  CHECK(block["axes"].size() == 8);
}

TEST_CASE("block prints shapes and both graphs; --set changes sizes and blocks that are given") {
  const Finished finished = run({"block", "llama", "--set", "hidden=1024", "--set", "mlp=gated_mlp"});
  CHECK(finished.status == 2);  // gated_mlp is a block of llama.yaml, not a file of its own
  const Finished smaller = run({"block", "llama", "--set", "hidden=1024", "--set", "ffn=4096"});
  REQUIRE(smaller.status == 0);
  CHECK(smaller.out.find("d_out") != std::string::npos);
  CHECK(smaller.out.find("16779264") != std::string::npos);  // 4 * 1024^2 + 3 * 1024 * 4096 + 2 * 1024
}

TEST_CASE("an error of a block is refused with its place") {
  const Finished unknown = run({"block", "lama"});
  CHECK(unknown.status == 2);
  CHECK(unknown.out.empty());
  CHECK(unknown.err.find("did you mean 'llama'?") != std::string::npos);
  const Finished size = run({"block", "llama", "--set", "hiden=3"});
  CHECK(size.status == 2);
  CHECK(size.err.find("did you mean 'hidden'?") != std::string::npos);
}

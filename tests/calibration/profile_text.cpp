#include "calibration/profile_text.hpp"

#include "base/document.hpp"
#include "base/error.hpp"

#include <doctest/doctest.h>

using namespace mirfak;

namespace {

FittedSection section(double value) {
  FittedSection out;
  out.path = {"gemm", "bf16"};
  out.constants = {{"overhead_s", value}};
  out.source = "fit of 2 of 3 measured products";
  out.source_key = "gemm_bf16";
  FitScore score;
  score.name = "all";
  score.fitted.count = 2;
  score.held_out.count = 1;
  score.held_out.p90_ape = 0.125;
  out.scores = {score};
  return out;
}

const char* const kProfile =
    "title: A GPU  # a comment\n"
    "sources:\n"
    "  recalled: \"recalled, to be confirmed\"\n"
    "gemm:\n"
    "  fp16:\n"
    "    overhead_s: [1e-6, recalled]\n"
    "  bf16:\n"
    "    overhead_s: [9e-6, recalled]\n"
    "    shapes: 7\n"
    "idle_w: [60, recalled]\n";

}  // namespace

TEST_CASE("a section replaces its namesake and nothing else") {
  CHECK(with_sections(kProfile, {section(2.5e-6)}) ==
        "title: A GPU  # a comment\n"
        "sources:\n"
        "  recalled: \"recalled, to be confirmed\"\n"
        "  gemm_bf16: \"fit of 2 of 3 measured products\"\n"
        "gemm:\n"
        "  fp16:\n"
        "    overhead_s: [1e-6, recalled]\n"
        "  bf16:\n"
        "    overhead_s: [2.5e-06, gemm_bf16]\n"
        "    measurements: 3\n"
        "    median_error: 0.0000\n"
        "    p90_error: 0.0000\n"
        "    held_out_median_error: 0.0000\n"
        "    held_out_p90_error: 0.1250\n"
        "idle_w: [60, recalled]\n");
}

TEST_CASE("a dotted name stands under the keys before its dots") {
  FittedSection nested = section(1);
  nested.constants = {{"first", 1}, {"sizes.64.a", 2}, {"sizes.64.b", 3}, {"sizes.128.a", 4}};
  const std::string text = with_sections("", {nested});
  CHECK(text.find("    first: [1, gemm_bf16]\n"
                  "    sizes:\n"
                  "      64:\n"
                  "        a: [2, gemm_bf16]\n"
                  "        b: [3, gemm_bf16]\n"
                  "      128:\n"
                  "        a: [4, gemm_bf16]\n"
                  "    measurements: 3\n") != std::string::npos);
}

TEST_CASE("writing the same section twice changes nothing more") {
  const std::string once = with_sections(kProfile, {section(2.5e-6)});
  CHECK(with_sections(once, {section(2.5e-6)}) == once);
}

TEST_CASE("from nothing comes a fragment that reads as YAML") {
  const std::string text = with_sections("", {section(3e-6)});
  const Document document = Document::from_text(text, "fragment");
  const Value* gemm = document.root().find("gemm");
  REQUIRE(gemm != nullptr);
  REQUIRE(gemm->find("bf16") != nullptr);
  CHECK(gemm->find("bf16")->find("overhead_s")->items[0].scalar == "3e-06");
  CHECK(document.root().find("sources")->find("gemm_bf16") != nullptr);
}

TEST_CASE("a section that is missing joins its siblings") {
  FittedSection fp8 = section(1e-6);
  fp8.path = {"gemm", "fp8"};
  fp8.source_key = "gemm_fp8";
  const Document document = Document::from_text(with_sections(kProfile, {fp8}), "profile");
  const Value* gemm = document.root().find("gemm");
  REQUIRE(gemm->fields.size() == 3);
  CHECK(gemm->find("fp8") != nullptr);
  CHECK(gemm->find("bf16")->find("shapes")->scalar == "7");
}

TEST_CASE("a fit that nothing judges is not written") {
  FittedSection alone = section(1e-6);
  alone.scores.back() = {"m >= 1024", {}, {}};
  CHECK_THROWS_WITH_AS(with_sections(kProfile, {alone}),
                       "gemm.bf16: no row with m >= 1024 was measured, which fits are judged by\n"
                       "  measure the sizes that training runs, or score the tables alone with --score",
                       Error);
}

TEST_CASE("a section keeps what it says it keeps; a source goes with the last figure that named it") {
  const std::string before =
      "sources:\n"
      "  old: \"a paper\"\n"
      "  older: \"a recollection\"\n"
      "  unused: \"of nothing: a fault that was there before\"\n"
      "gemm:\n"
      "  bf16:\n"
      "    overhead_s: [9e-6, older]\n"
      "    sizes:\n"
      "      64: {a: [1, old], b: [2, old]}\n"
      "      128: {a: [3, older]}\n"
      "idle_w: [60, unused_too]\n";
  FittedSection partial = section(1);
  partial.constants = {{"sizes.128.a", 4}};
  partial.kept = {{"sizes", "64"}, {"sizes", "32"}};
  const std::string after = with_sections(before, {partial});
  CHECK_MESSAGE(after.find("    sizes:\n"
                           "      128:\n"
                           "        a: [4, gemm_bf16]\n"
                           "      64: {a: [1, old], b: [2, old]}\n"
                           "    measurements: 3\n") != std::string::npos,
                after);
  CHECK(after.find("  old: ") != std::string::npos);
  CHECK(after.find("  older: ") == std::string::npos);
  CHECK(after.find("  unused: ") != std::string::npos);
  CHECK(after.find("overhead_s") == std::string::npos);
}

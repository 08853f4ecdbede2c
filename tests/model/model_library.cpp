// The files in models/, against the parameter counts that their makers publish.
#include "model/model_loader.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

namespace model_library_test {

using namespace mirfak;

namespace {

const std::filesystem::path folder = std::filesystem::path(source_root()) / "models";

ModelSpec load(const std::string& name) { return load_model(name, folder, {"test", 0, 0}); }

}  // namespace

TEST_CASE("every file in models/ loads, says where it is from, and is called like its file") {
  const std::vector<std::string> names = model_names(folder);
  CHECK(names.size() >= 40);
  CHECK(std::is_sorted(names.begin(), names.end()));
  for (const std::string& name : names) {
    CAPTURE(name);
    const ModelSpec model = load(name);
    CHECK(model.name == name);
    CHECK(model.source.find(".yaml") == std::string::npos);  // a source of its own, not the name of the file
    CHECK(model.source.size() > 20);
    CHECK_FALSE(model.family.empty());
    if (model.mixture.experts == 0 && model.blocks.empty()) CHECK(model.heads * model.head_dim == model.hidden);
    CHECK(count_parameters(model).total > 5e7);
  }
}

TEST_CASE("the size in a name is the number of parameters, to the digits of the name") {
  // 3.6b means 3.55 to 3.65 billion. Names that round otherwise, as their makers chose them, stand in the next case.
  const auto check = [](const std::string& name, double parameters, double precision) {
    CAPTURE(name);
    CHECK(std::abs(count_parameters(load(name)).total - parameters) <= precision / 2 + 1);
  };
  check("gpt-1.7b", 1.7e9, 1e8);
  check("gpt-3.6b", 3.6e9, 1e8);
  check("gpt-7.5b", 7.5e9, 1e8);
  check("gpt-18.4b", 18.4e9, 1e8);
  check("gpt-39.1b", 39.1e9, 1e8);
  check("gpt-76.1b", 76.1e9, 1e8);
  check("gpt-145.6b", 145.6e9, 1e8);
  check("gpt-310.1b", 310.1e9, 1e8);
  check("gpt-529.6b", 529.6e9, 1e8);
  check("gpt-1t", 1008.0e9, 1e8);
  check("gpt-22b", 22e9, 1e9);
  check("mt-nlg-530b", 530e9, 1e9);
  check("gpt3-175b", 174.6e9, 1e8);
}

TEST_CASE("published parameter counts") {
  const auto check = [](const std::string& name, double parameters) {
    CAPTURE(name);
    CHECK(count_parameters(load(name)).total == parameters);
  };
  check("gpt2-124m", 124'439'808);
  check("gpt2-355m", 354'823'168);
  check("gpt2-774m", 774'030'080);
  check("gpt2-1.5b", 1'557'611'200);
  check("llama-7b", 6'738'415'616);
  check("llama-13b", 13'015'864'320);
  check("llama-30b", 32'528'943'616);
  check("llama-65b", 65'285'660'672);
  check("llama2-7b", 6'738'415'616);
  check("llama2-13b", 13'015'864'320);
  check("llama2-70b", 68'976'648'192);
  check("llama3-8b", 8'030'261'248);
  check("llama3-70b", 70'553'706'496);
  check("llama3-405b", 405'853'388'800);
  check("bloom-560m", 559'214'592);
  check("bloom-1b1", 1'065'314'304);
  check("bloom-1b7", 1'722'408'960);
  check("bloom-3b", 3'002'557'440);
  check("bloom-7b1", 7'069'016'064);
  check("bloom-176b", 176'247'271'424);
  // BERT's checkpoints for pre-training, 336,226,108 and 110,106,428, and six rows of padding in the vocabulary.
  check("bert-large", 336'226'108 + 6 * 1025);
  check("bert-base", 110'106'428 + 6 * 769);
}

TEST_CASE("published parameter counts of OPT, less the two position rows that are kept for padding") {
  const auto check = [](const std::string& name, double parameters) {
    CAPTURE(name);
    const ModelSpec model = load(name);
    CHECK(count_parameters(model).total == parameters - 2 * static_cast<double>(model.hidden));
  };
  check("opt-125m", 125'239'296);
  check("opt-1.3b", 1'315'758'080);
  check("opt-2.7b", 2'651'596'800);
  check("opt-6.7b", 6'658'473'984);
}

TEST_CASE("GPT-3's own table, within what padding of the vocabulary and rounding change") {
  const auto check = [](const std::string& name, double parameters) {
    CAPTURE(name);
    CHECK(count_parameters(load(name)).total == doctest::Approx(parameters).epsilon(0.02));
  };
  check("gpt3-125m", 125e6);
  check("gpt3-350m", 356e6);
  check("gpt3-760m", 760e6);
  check("gpt3-1.3b", 1.3e9);
  check("gpt3-2.7b", 2.65e9);
  check("gpt3-6.7b", 6.66e9);
  check("gpt3-13b", 12.85e9);
}

TEST_CASE("experts: total and active parameters as published, to the digits published") {
  const auto check = [](const std::string& name, double total, double active, double active_precision) {
    CAPTURE(name);
    const ParameterCount count = count_parameters(load(name));
    CHECK(count.total == doctest::Approx(total).epsilon(0.006));
    CHECK(std::abs(count.active - active) <= active_precision);
  };
  check("mixtral-8x7b", 46.7e9, 12.9e9, 0.05e9);    // arXiv 2401.04088, section 2.1: 47B and 13B
  check("mixtral-8x22b", 140.6e9, 39e9, 0.5e9);     // its announcement: 141B and 39B
  check("deepseek-v2", 236e9, 21e9, 0.5e9);         // arXiv 2405.04434
  check("deepseek-v2-lite", 15.7e9, 2.4e9, 0.3e9);  // without embeddings in the active count
  check("deepseek-v3", 671e9, 37e9, 1e9);           // arXiv 2412.19437
  check("kimi-k2", 1.026e12, 32.6e9, 1.2e9);        // arXiv 2507.20534: 1.04T and 32.6B
  check("qwen3-30b-a3b", 30.5e9, 3.3e9, 0.06e9);    // its model card
  check("qwen3-235b-a22b", 235e9, 22e9, 0.3e9);
  check("moonlight-16b-a3b", 15.96e9, 2.9e9, 0.4e9);  // arXiv 2502.16982, with embeddings
  check("llama4-scout", 108e9, 17e9, 0.5e9);          // of the text model
  check("llama4-maverick", 400e9, 17e9, 0.5e9);
  check("grok-1", 314e9, 86e9, 2.5e9);         // xAI: 314B, 86B active
  check("gpt-oss-20b", 20.9e9, 3.6e9, 0.7e9);  // arXiv 2508.10925; the active count has one of the embeddings
  check("gpt-oss-120b", 116.8e9, 5.1e9, 0.7e9);
}

}  // namespace model_library_test

// The files in models/, against the parameter counts that their makers publish.
#include "model/model_loader.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

using namespace mirfak;

namespace {

const std::filesystem::path folder = std::filesystem::path(MIRFAK_SOURCE_DIR) / "models";

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
    CHECK(model.heads * model.head_dim == model.hidden);
    CHECK(count_parameters(model).total > 1e8);
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
  check("gpt3-1.3b", 1.3e9 * 1.01);
  check("gpt3-2.7b", 2.65e9);
  check("gpt3-6.7b", 6.66e9);
  check("gpt3-13b", 12.85e9);
}

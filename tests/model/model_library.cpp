// The files in models/, against the parameter counts that their makers publish.
#include "model/model_loader.hpp"
#include "support/source_root.hpp"
#include "tests/base/failure.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

namespace model_library_test {

using namespace mirfak;

namespace {

const std::filesystem::path folder = std::filesystem::path(source_root()) / "models";

ModelSpec load(const std::string& name) { return load_model(name, folder, {"test", 0, 0}); }

void check_count(const std::string& name, double parameters) {
  CAPTURE(name);
  CHECK(count_parameters(load(name)).total == parameters);
}

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
  check_count("gpt2-124m", 124'439'808);
  check_count("gpt2-355m", 354'823'168);
  check_count("gpt2-774m", 774'030'080);
  check_count("gpt2-1.5b", 1'557'611'200);
  check_count("llama-7b", 6'738'415'616);
  check_count("llama-13b", 13'015'864'320);
  check_count("llama-30b", 32'528'943'616);
  check_count("llama-65b", 65'285'660'672);
  check_count("llama2-7b", 6'738'415'616);
  check_count("llama2-13b", 13'015'864'320);
  check_count("llama2-70b", 68'976'648'192);
  check_count("llama3-8b", 8'030'261'248);
  check_count("llama3-70b", 70'553'706'496);
  check_count("llama3-405b", 405'853'388'800);
  check_count("llama3.2-1b", 1'235'814'400);
  check_count("llama3.2-3b", 3'212'749'824);
  check_count("mistral-7b", 7'248'023'552);
  check_count("mistral-nemo-12b", 12'247'782'400);
  check_count("mistral-small-24b", 23'572'403'200);
  check_count("qwen2.5-0.5b", 494'032'768);
  check_count("qwen2.5-1.5b", 1'543'714'304);
  check_count("qwen2.5-3b", 3'085'938'688);
  check_count("qwen2.5-7b", 7'615'616'512);
  check_count("qwen2.5-14b", 14'770'033'664);
  check_count("qwen2.5-32b", 32'763'876'352);
  check_count("qwen2.5-72b", 72'706'203'648);
  check_count("qwen3-0.6b", 596'049'920);
  check_count("qwen3-1.7b", 1'720'574'976);
  check_count("qwen3-4b", 4'022'468'096);
  check_count("qwen3-14b", 14'768'307'200);
  check_count("qwen3-32b", 32'762'123'264);
  check_count("gemma2-2b", 2'614'341'888);
  check_count("gemma2-9b", 9'241'705'984);
  check_count("gemma2-27b", 27'227'128'320);
  check_count("gemma3-1b", 999'885'952);
  check_count("bloom-560m", 559'214'592);
  check_count("bloom-1b1", 1'065'314'304);
  check_count("bloom-1b7", 1'722'408'960);
  check_count("bloom-3b", 3'002'557'440);
  check_count("bloom-7b1", 7'069'016'064);
  check_count("bloom-176b", 176'247'271'424);
  // BERT's checkpoints for pre-training, 336,226,108 and 110,106,428, and six rows of padding in the vocabulary.
  check_count("bert-large", 336'226'108 + 6 * 1025);
  check_count("bert-base", 110'106'428 + 6 * 769);
}

TEST_CASE("parameter counts that the files of weights on the hub state") {
  check_count("apertus-8b", 8'053'338'176);
  check_count("baichuan2-13b", 13'896'668'160);
  check_count("baichuan2-7b", 7'505'973'248);
  check_count("gemma3-12b-vision", 12'187'325'040);
  check_count("gemma3-270m", 268'098'176);
  check_count("gemma3-27b-vision", 27'432'406'640);
  check_count("gemma3-4b-vision", 4'300'079'472);
  check_count("glm4-32b", 32'566'081'536);
  check_count("glm4-9b", 9'400'279'040);
  check_count("glm4.5-air", 106'852'245'504);
  check_count("gpt-neo-1.3b", 1'315'575'808);
  check_count("gpt-neo-125m", 125'198'592);
  check_count("gpt-neo-2.7b", 2'651'307'520);
  check_count("granite3-2b", 2'533'531'648);
  check_count("granite3-8b", 8'170'848'256);
  check_count("lfm2-1.2b", 1'170'340'608);
  check_count("lfm2-350m", 354'483'968);
  check_count("lfm2-700m", 742'489'344);
  check_count("llava1.5-7b", 7'063'427'072);
  check_count("ministral-8b", 8'019'808'256);
  check_count("mistral-small-3.1-24b", 24'011'361'280);
  check_count("mpt-7b", 6'649'286'656);
  check_count("olmo3-7b", 7'298'011'136);
  check_count("phi-3-medium", 13'960'238'080);
  check_count("qwen-14b", 14'167'290'880);
  check_count("qwen-7b", 7'721'324'544);
  check_count("qwen1.5-moe-a2.7b", 14'315'784'192);
  check_count("qwen2-vl-2b", 2'208'985'600);
  check_count("qwen2-vl-72b", 73'405'560'320);
  check_count("qwen2-vl-7b", 8'291'375'616);
  check_count("qwen2.5-vl-32b", 33'452'718'336);
  check_count("qwen2.5-vl-3b", 3'754'622'976);
  check_count("qwen2.5-vl-72b", 73'410'777'344);
  check_count("qwen2.5-vl-7b", 8'292'166'656);
  check_count("qwen3-vl-2b", 2'127'532'032);
  check_count("qwen3-vl-8b", 8'767'123'696);
  check_count("seed-oss-36b", 36'151'104'512);
  check_count("smollm3-3b", 3'075'098'624);
  check_count("stablelm2-1.6b", 1'644'515'328);
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
  check("nemotron-3-super-120b-a12b", 120.6e9, 12.7e9, 0.1e9);  // its report: recalled, to be confirmed
  check("nemotron-3-ultra-550b-a55b", 550e9, 55e9, 1.2e9);  // its report, section 2.1; the count has both embeddings
  check("nemotron-3.5-lightning-30b-a3b", 31.6e9, 3.6e9, 0.1e9);  // its model card
  check("qwen3-next-80b-a3b", 80e9, 3e9, 1e9);                    // its model card
  check("qwen3.5-35b-a3b", 35e9, 3e9, 1e9);                       // their names, and without towers
  check("qwen3.5-122b-a10b", 122e9, 10e9, 1.1e9);
  check("qwen3.5-397b-a17b", 397e9, 17e9, 1.1e9);
  check("deepseek-v3.2", 671e9, 37e9, 1.5e9);
  check("deepseek-v4-flash", 284e9, 13e9, 1.2e9);
  check("deepseek-v4-pro", 1.573e12, 49e9, 2e9);  // 1.6T
  check("glm-5", 744e9, 40e9, 2e9);               // arXiv 2602.15763; the count has both embeddings
  check("glm-5.2", 744e9, 40e9, 2e9);
}

// Transformers' own counts (huggingface/transformers 5.24, classes on the meta device).
TEST_CASE("models that are stated by their config.json, or have one, have the parameters that Transformers counts") {
  check_count("deepseek-v3.2", 671'877'929'216);
  check_count("deepseek-v4-flash", 284'332'230'231);
  check_count("gemma4-26b-a4b", 25'805'933'872);
  check_count("glm-5", 743'911'199'232);
  check_count("mimo-v2-flash", 308'778'768'832);
  check_count("minimax-m2.5", 228'689'748'992);
  check_count("nemotron-3-super-120b-a12b", 120'668'687'360);
  check_count("nemotron-h-56b", 56'324'350'464);
  check_count("qwen3-vl-4b", 4'437'815'808);
  check_count("qwen3-vl-30b-a3b", 31'070'754'032);
  check_count("internvl2-2b", 2'205'754'368);
  check_count("internvl2-8b", 8'075'365'376);
  check_count("internvl2-26b", 25'514'186'112);
  check_count("internvl2.5-1b", 938'193'024);
  check_count("internvl2.5-4b", 3'712'637'952);
  check_count("internvl3-8b", 7'944'373'760);
  check_count("internvl3.5-1b", 1'060'897'792);
  check_count("minicpm-llama3-v-2.5", 8'537'092'336);
  check_count("minicpm-v-2.6", 8'099'175'152);
  check_count("minicpm-v-4.5", 8'695'895'280);
  check_count("internlm2-1.8b", 1'889'110'016);
  check_count("internlm2-7b", 7'737'708'544);
  check_count("internlm2-20b", 19'861'149'696);
  check_count("yi-6b", 6'061'035'520);
  check_count("yi-34b", 34'388'917'248);
  check_count("qwen3.5-27b", 27'356'728'560);
  check_count("qwen3.5-122b-a10b", 122'562'817'776);
  check_count("tinyllama-1.1b", 1'100'048'384);
  check_count("open-llama-3b", 3'426'473'600);
  check_count("codellama-7b", 6'738'546'688);
  check_count("codellama-13b", 13'016'028'160);
  check_count("codellama-34b", 33'743'970'304);
  check_count("codellama-70b", 68'976'910'336);
  check_count("smollm2-135m", 134'515'008);
  check_count("smollm2-360m", 361'821'120);
  check_count("smollm2-1.7b", 1'711'376'384);
  check_count("deepseek-7b", 6'910'365'696);
  check_count("deepseek-67b", 67'425'001'472);
  check_count("deepseek-coder-1.3b", 1'346'471'936);
  check_count("deepseek-coder-6.7b", 6'740'512'768);
  check_count("deepseek-coder-33b", 33'342'991'360);
  check_count("mistral-7b-v0.2", 7'241'732'096);
  check_count("mistral-large-123b", 122'610'069'504);
  check_count("deepseek-r1-distill-qwen-1.5b", 1'777'088'000);
  check_count("qwen1.5-0.5b", 463'987'712);
  check_count("qwen1.5-1.8b", 1'836'828'672);
  check_count("qwen1.5-4b", 3'950'369'280);
  check_count("qwen1.5-7b", 7'721'324'544);
  check_count("qwen1.5-14b", 14'167'290'880);
  check_count("qwen1.5-32b", 32'512'218'112);
  check_count("qwen1.5-72b", 72'287'920'128);
  check_count("mistral-7b-v0.1", 7'241'732'096);
  check_count("pythia-70m", 70'426'624);
  check_count("pythia-160m", 162'322'944);
  check_count("pythia-410m", 405'334'016);
  check_count("pythia-1b", 1'011'781'632);
  check_count("pythia-1.4b", 1'414'647'808);
  check_count("pythia-2.8b", 2'775'208'960);
  check_count("pythia-6.9b", 6'857'302'016);
  check_count("pythia-12b", 11'846'072'320);
  check_count("gpt-neox-20b", 20'554'567'680);
  check_count("gpt-j-6b", 6'050'882'784);
  check_count("phi-1.5", 1'418'270'720);
  check_count("phi-2", 2'779'683'840);
  check_count("phi-3-mini", 3'821'079'552);
  check_count("phi-3.5-mini", 3'821'079'552);
  check_count("phi-4", 14'659'507'200);
  check_count("phi-4-mini", 3'836'021'760);
  check_count("gemma-2b", 2'506'172'416);
  check_count("gemma-7b", 8'537'680'896);
  check_count("falcon-7b", 6'921'720'704);
  check_count("falcon-40b", 41'303'293'952);
  check_count("stablelm-3b", 2'795'443'200);
  check_count("olmo2-7b", 7'298'617'344);
  check_count("olmo2-13b", 13'716'198'400);
  check_count("starcoder2-3b", 3'030'371'328);
  check_count("starcoder2-7b", 7'173'923'840);
  check_count("starcoder2-15b", 15'957'889'024);
  check_count("modernbert-base", 149'655'232);
  check_count("modernbert-large", 395'881'664);
  check_count("nemotron-3.5-lightning-30b-a3b", count_parameters(load("nemotron-3-nano-30b-a3b")).total);
}

// An indexer has 32 heads of 128 by a query of rank 2048, a key, a weight of each head, and a norm with a bias; 57
// layers have none.
TEST_CASE("GLM-5.2 is GLM-5 without the indexers of the layers that share one") {
  const double indexer = 2048 * 32 * 128 + 6144 * 128 + 6144 * 32 + 2 * 128;
  CHECK(count_parameters(load("glm-5.2")).total == count_parameters(load("glm-5")).total - 57 * indexer);
}

TEST_CASE("a model of a config.json's keys: its own length of sequences, and no model_type, no model") {
  const auto parse = [](const std::string& text) {
    return parse_model(Document::from_text(text, "mine.yaml"), folder);
  };
  const std::string keys =
      "config: {model_type: olmo2, hidden_size: 64, intermediate_size: 128, num_hidden_layers: 3, "
      "num_attention_heads: 4, vocab_size: 100, max_position_embeddings: 256}\n";
  const ModelSpec mine = parse("source: a test\nfamily: a family\nmax_sequence: 128\n" + keys);
  CHECK(mine.max_sequence == 128);
  CHECK(mine.name == "mine");
  CHECK(mine.family == "a family");
  CHECK(mine.source == "a test");
  CHECK(parse(keys).max_sequence == 256);
  CHECK(parse(keys).family == "olmo2");
  CHECK(contains(failure_of([&] { parse("config: {hidden_size: 64}"); }), "mine.yaml:1:9: config: missing the key"));
  CHECK(contains(failure_of([&] { parse("layers: 3\n" + keys); }), "layers"));
  const std::string learned =
      "config: {model_type: gpt2, n_layer: 2, n_embd: 64, n_head: 4, vocab_size: 100, n_positions: 32}";
  CHECK(contains(failure_of([&] { parse("max_sequence: 16\n" + learned); }), "mine.yaml:1:15: max_sequence: learned"));
}

}  // namespace model_library_test

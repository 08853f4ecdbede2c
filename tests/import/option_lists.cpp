// The lists of options against mirfak's own keys: a list names no key and no word that a scenario does not have.

#include "launch/option_list.hpp"

#include "base/key_path.hpp"
#include "launch_files.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

namespace option_lists_test {

using namespace mirfak;

namespace {

constexpr const char* kJob =
    "model: {name: own, layers: 8, hidden: 1024, heads: 16, ffn: 4096, vocab: 32000, max_sequence: 4096, activation: "
    "swiglu, experts: {count: 8, per_token: 2, ffn: 1024, groups: 2, groups_per_token: 2}}\n"
    "cluster: {nodes: [{type: hgx-h100, count: 4}]}\n"
    "training: {global_batch: 64, sequence_length: 2048}\n"
    "strategy: {pipeline: 2}\n";

constexpr const char* kLatentJob =
    "model: {name: own, layers: 8, hidden: 1024, heads: 16, head_dim: 96, ffn: 4096, vocab: 32000, max_sequence: 4096, "
    "latent_attention: {query_rank: 64, key_value_rank: 64, position_dim: 32, value_dim: 64}}\n"
    "cluster: {nodes: [{type: hgx-h100, count: 4}]}\n"
    "training: {global_batch: 64, sequence_length: 2048}\n";

// The error for a job with this value of a key; "": there is none.
std::string error_for(const std::string& key, const std::string& word) {
  const bool latent = key.starts_with("model.latent_attention.");
  const Document base = Document::from_text(latent ? kLatentJob : kJob, "job.yaml");
  Value root = base.root();
  KeyPath(key, {}).assign(root, scalar_value(word, {}), {});
  try {
    parse_scenario(base.with_root(std::move(root)), import_sources());
  } catch (const Error& error) {
    REQUIRE(error.kind() != ErrorKind::internal);
    return error.message();
  }
  return "";
}

// Words that the entry gives to its key, or a number that any count may be.
std::vector<std::string> words_of_key(const OptionEntry& entry) {
  std::vector<std::string> out;
  for (const auto& word : entry.words) out.push_back(word.second.word);
  if (entry.otherwise) out.push_back(entry.otherwise->word);
  if (!entry.fallback.empty()) out.push_back(entry.fallback);
  if (entry.words.empty()) out.emplace_back("1");
  std::erase(out, "");
  return out;
}

std::vector<std::string> list_names() {
  std::vector<std::string> out;
  for (const auto& file : std::filesystem::directory_iterator(source_root() + "/hw_profiles/launch/options")) {
    out.push_back(file.path().stem().string());
  }
  return out;
}

}  // namespace

TEST_CASE("every key in a list of options is a key of scenarios, and every word one of its words") {
  int keys = 0;
  for (const std::string& name : list_names()) {
    CAPTURE(name);
    const OptionList list(source_root() + "/hw_profiles", name);
    for (const OptionEntry& entry : list.entries()) {
      if (entry.key.empty() || entry.key.starts_with("recipe.")) continue;
      CAPTURE(entry.name);
      ++keys;
      for (const std::string& word : words_of_key(entry)) {
        const std::string error = error_for(entry.key, word);
        CHECK_MESSAGE(error.find("unknown key") == std::string::npos, error);
        if (!entry.words.empty()) CHECK_MESSAGE(error.find("expected") == std::string::npos, error);
      }
    }
  }
  CHECK(keys > 100);
}

TEST_CASE("the keys in a list of options are told from others") {
  CHECK(error_for("strategy.tensors", "1").find("unknown key") != std::string::npos);
  CHECK(error_for("strategy.recompute", "some").find("expected") != std::string::npos);
  CHECK(error_for("model.activation", "tanh").find("expected") != std::string::npos);
}

TEST_CASE("an option of a list is read and written by its entry alone") {
  const OptionList list(source_root() + "/hw_profiles", "megatron");
  const OptionEntry* entry = list.find("--cp-comm-type");
  REQUIRE(entry != nullptr);
  CHECK(entry->meaning_of("all_gather")->word == "all-gather");
  CHECK(*entry->word_for("all-gather") == "all_gather");
  CHECK(entry->meaning_of("a2a+p2p")->word == "p2p");  // heads of groups: --hierarchical-context-parallel-sizes
  CHECK(*entry->word_for("p2p") == "p2p");
  CHECK(list.place("--num-layers") < list.place("--tensor-model-parallel-size"));
}

}  // namespace option_lists_test

// A model as a mapping in a scenario is the same model, whatever parts it has; a model of blocks is refused.

#include "launch/model_mapping.hpp"

#include "base/error.hpp"
#include "model/model_loader.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

using namespace mirfak;

TEST_CASE("every model of the library is written as a mapping with its parameters, or has blocks of its own") {
  const std::filesystem::path folder = std::filesystem::path(source_root()) / "models";
  int written = 0;
  int refused = 0;
  for (const std::string& name : model_names(folder)) {
    CAPTURE(name);
    const ModelSpec model = load_model(name, folder, {});
    if (!model.blocks.empty()) {
      CHECK_THROWS_AS(model_mapping(model, folder, {name, 0, 0}), Error);
      ++refused;
      continue;
    }
    if (model.head.kind != HeadKind::language || model.masked_share > 0 || model.sentence_pairs) {
      CHECK_THROWS_AS(model_mapping(model, folder, {name, 0, 0}), Error);
      continue;
    }
    const Value mapping = model_mapping(model, folder, {name, 0, 0});
    CHECK(mapping.find("layers")->scalar == std::to_string(model.layers));
    CHECK((mapping.find("experts") != nullptr) == (model.mixture.experts > 0));
    CHECK((mapping.find("latent_attention") != nullptr) == (model.latent.key_value_rank > 0));
    CHECK((mapping.find("sliding_window") != nullptr) == (model.window.tokens > 0));
    ++written;
  }
  CHECK(written > 20);
  CHECK(refused > 0);
}

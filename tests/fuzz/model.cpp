// Any bytes are either a model whose sizes keep their promises, or an input error that says where.

#include "base/document.hpp"
#include "base/error.hpp"
#include "model/model_loader.hpp"
#include "require.hpp"
#include "support/source_root.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace {

const std::filesystem::path folder = std::filesystem::path(mirfak::source_root()) / "models";

void check(const mirfak::ModelSpec& model) {
  const bool of_blocks = !model.blocks.empty();  // may begin from other data than words
  mirfak::require(model.layers > 0 && model.hidden > 0 && model.ffn > 0 && model.max_sequence > 0);
  mirfak::require(model.vocab > 0 || of_blocks);
  mirfak::require(model.heads > 0 && model.kv_heads > 0 && model.head_dim > 0 && model.heads % model.kv_heads == 0);
  mirfak::require(model.dropout >= 0 && model.dropout <= 1);
  const mirfak::ParameterCount count = mirfak::count_parameters(model);
  // Norms after the blocks and tied embeddings leave the head nothing of its own.
  mirfak::require(std::isfinite(count.total) && count.layer >= 0 && count.head >= 0);
  mirfak::require((count.embedding > 0 && count.layer > 0) || of_blocks);
  mirfak::require(count.total >= count.embedding + count.layer + count.head);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    check(mirfak::parse_model(mirfak::Document::from_text(std::string(bytes, bytes + size), "fuzzed/config.json"),
                              folder));
  } catch (const mirfak::Error& error) {
    mirfak::require_refusal(error);
  }
  return 0;
}

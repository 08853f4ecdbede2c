// Any bytes are either a document or an input error that says where; a document survives its own YAML.

#include "base/document.hpp"
#include "base/error.hpp"
#include "require.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    const auto document = mirfak::Document::from_text(std::string(bytes, bytes + size), "input.yaml");
    const auto again = mirfak::Document::from_text(document.to_yaml(), "output.yaml");
    mirfak::require(again.to_yaml() == document.to_yaml());
  } catch (const mirfak::Error& error) {
    mirfak::require_refusal(error);
  }
  return 0;
}

// Any bytes are either a document or an input error that says where; a document survives its own YAML.

#include "base/document.hpp"
#include "base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    const auto document = mirfak::Document::from_text(std::string(bytes, bytes + size), "input.yaml");
    const auto again = mirfak::Document::from_text(document.to_yaml(), "output.yaml");
    if (again.to_yaml() != document.to_yaml()) {
      std::abort();
    }
  } catch (const mirfak::Error& error) {
    if (error.kind() != mirfak::ErrorKind::input || !error.where().known()) {
      std::abort();
    }
  }
  return 0;
}

// The first line is an override, the rest the document it is applied to: either it stands there afterwards, or it is
// an input error that names it, and the document can still be written and read.

#include "base/document.hpp"
#include "base/error.hpp"
#include "require.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string input(bytes, bytes + size);
  const std::size_t end = input.find('\n');
  if (end == std::string::npos) return 0;
  try {
    auto document = mirfak::Document::from_text(input.substr(end + 1), "input.yaml");
    try {
      document.override_value(input.substr(0, end));
    } catch (const mirfak::Error& error) {
      mirfak::require(error.kind() == mirfak::ErrorKind::input && error.where().file.rfind("--set ", 0) == 0,
                      error.what());
    }
    const auto again = mirfak::Document::from_text(document.to_yaml(), "output.yaml");
    mirfak::require(again.to_yaml() == document.to_yaml());
  } catch (const mirfak::Error& error) {
    mirfak::require(error.where().file == "input.yaml", error.what());
  }
  return 0;
}

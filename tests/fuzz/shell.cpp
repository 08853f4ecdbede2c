#include "base/error.hpp"
#include "import/shell_script.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>

// Any bytes, as a script, are read, or refused with a place.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace mirfak;
  if (size > 4096) return 0;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  try {
    run_shell("input.sh", text, {});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) std::abort();
  }
  return 0;
}

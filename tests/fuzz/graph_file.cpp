#include "network/graph_file.hpp"

#include "network_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace mirfak;
  return check_network(bytes, size, [](std::string_view text) {
    return read_graph_file(Document::from_text(std::string(text), "input.yaml"));
  });
}

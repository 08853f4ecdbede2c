#include "capture_texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <utility>

namespace mirfak::test {

std::string with_end(std::string text) {
  boost::crc_32_type crc;
  crc.process_bytes(text.data(), text.size());
  const auto lines = std::count(text.begin(), text.end(), '\n');
  return text + fmt::format("{{\"lines\":{},\"crc32\":{}}}\n", lines, crc.checksum());
}

std::string capture_text_of(const std::string& operators, const std::string& collectives,
                            const std::vector<std::string>& events) {
  std::vector<std::string> lines = {
      fmt::format(
          "{{\"mirfak_capture\":1,\"program\":\"p\",\"command\":[\"p.py\"],\"world_size\":{},\"gpus_per_node\":8,"
          "\"device\":\"h100\",\"step\":2,\"torch\":\"2.15\"}}",
          events.size()),
      fmt::format("{{\"table\":\"operators\",\"entries\":[{}]}}", operators),
      fmt::format("{{\"table\":\"collectives\",\"entries\":[{}]}}", collectives),
      "{\"table\":\"modules\",\"entries\":[\"\",\"model.layers.0\"]}",
  };
  for (std::size_t rank = 0; rank < events.size(); ++rank) {
    lines.push_back(
        fmt::format("{{\"rank\":{},\"state\":{{\"param_bytes\":100,\"param_numel\":50,\"optimizer_state_bytes\":200,"
                    "\"optimizer_state_scalars\":1}},\"dispatched\":9,\"python_lines\":0,\"memory\":{{\"peak_allocated_"
                    "bytes\":1000,"
                    "\"peak_reserved_bytes\":2097152}},\"notes\":{{}},\"before\":[],\"events\":{}}}",
                    rank, events[rank]));
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return with_end(std::move(text));
}

}  // namespace mirfak::test

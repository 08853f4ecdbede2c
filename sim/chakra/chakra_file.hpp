#pragma once

#include "chakra/chakra_trace.hpp"

#include <filesystem>
#include <functional>
#include <ostream>

namespace mirfak {

// Reads a trace: NAME.<rank>.et (messages behind their lengths), plain or compressed by gzip, or the JSON that Chakra's
// converter writes of one (a list "workload_graph"). The rank is the number before the last .et or .json; a file
// without one is rank 0. Error(input) with the number of the message where the file is cut off, damaged or not such a
// file, and for an id that stands twice.
ChakraTrace read_chakra_trace(const std::filesystem::path& path);

// Writes a trace message by message.
class ChakraWriter {
 public:
  // The header: version of the schema, rank, groups that it is in, and what else is said of the file.
  ChakraWriter(std::ostream& out, const ChakraTrace& head,
               const std::vector<std::pair<std::string, std::string>>& more = {});
  void add(const ChakraNode& node);

 private:
  std::ostream& out_;
};

}  // namespace mirfak

#pragma once

#include "chakra/chakra_trace.hpp"

#include <filesystem>
#include <functional>
#include <ostream>

namespace mirfak {

// Reads a trace: NAME.<rank>.et (messages after their lengths), plain or compressed by gzip, or the JSON that Chakra's
// converter makes of such a file (a list "workload_graph"). The rank is the number before the last .et or .json; a file
// without a number is rank 0. Error(input) with the number of the message if the file is cut off, damaged or not a
// trace, and for two nodes with one id.
ChakraTrace read_chakra_trace(const std::filesystem::path& path);

// Writes a trace message by message.
class ChakraWriter {
 public:
  // Writes the header: version of the schema, rank, groups that the rank is in, and `more` texts about the file.
  ChakraWriter(std::ostream& out, const ChakraTrace& head,
               const std::vector<std::pair<std::string, std::string>>& more = {});
  void add(const ChakraNode& node);

 private:
  std::ostream& out_;
};

}  // namespace mirfak

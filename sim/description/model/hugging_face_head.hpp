#pragma once

#include "model/hugging_face_config.hpp"

#include <string>
#include <vector>

namespace mirfak {

// The head that the class in `architectures` has.
struct HeadOfClass {
  Head head;
  bool causal = false;  // the class is one of language alone: "...ForCausalLM"
};

// Reads the class in `architectures` of the file (`root`); the number of labels stands there or in `language`. `own`:
// the classes of the family whose head is that of a language model. A model of embeddings adds a note. Throws
// Error(input) at a class whose head is not known.
HeadOfClass head_of_class(Config& root, Config& language, const std::vector<std::string>& own,
                          std::vector<std::string>& notes);

}  // namespace mirfak

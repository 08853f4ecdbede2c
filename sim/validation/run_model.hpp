#pragma once

#include "base/document.hpp"
#include "model/model_spec.hpp"
#include "validation/run_reading.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace mirfak {

// The models of a data folder, each with the text it was read from.
class ModelLibrary {
 public:
  // Error(input) as load_model.
  explicit ModelLibrary(const std::filesystem::path& folder);

  // The `model` section of the scenario of a row: the library's model of its shape and name (of several the key
  // `library` may choose), or, where there is none, the row's `new_model`; with the row's own keys over it, but for
  // sizes of a new model of blocks, which its own `sizes` name.
  // Error(infeasible) at the row where neither serves, or a size is missing.
  Value model_of(const RunReading& reading) const;

 private:
  struct Entry {
    std::string name;
    std::vector<std::string> words;  // of its name
    ModelSpec spec;
    Value value;
  };

  const Entry* find(const RunReading& reading) const;

  std::vector<Entry> entries_;
};

// The words of a name, split where letters, digits and signs meet: "LLaMA3.1-8B" is llama, 3, 1, 8, b.
std::vector<std::string> name_words(std::string_view name);

}  // namespace mirfak

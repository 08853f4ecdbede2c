#pragma once

#include "base/document.hpp"
#include "model/model_spec.hpp"
#include "validation/measured_run.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace mirfak {

// The models of a data folder, each with the text it was read from.
class ModelLibrary {
 public:
  // Error(input) as load_model.
  explicit ModelLibrary(const std::filesystem::path& folder);

  // The `model` section of the scenario of a run, as YAML: the library's model of that name and shape with the sizes
  // that the row states put over it, or, where there is none, what the family of that name has in common.
  // Error(infeasible) at the row where a size is missing, or for mixtures of experts that the library does not have.
  std::string model_yaml_of(const MeasuredRun& run) const;

 private:
  struct Entry {
    std::vector<std::string> words;  // of its name
    ModelSpec spec;
    Value value;
  };

  const Entry* find(const MeasuredRun& run) const;

  std::vector<Entry> entries_;
};

}  // namespace mirfak

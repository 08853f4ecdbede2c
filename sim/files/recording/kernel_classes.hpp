#pragma once

#include "base/document.hpp"
#include "recording/recording.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Classes of kernels by their names, sizes of element types, and classes of operators: hw_profiles/kernel_classes.yaml.
class KernelClasses {
 public:
  // Error(input) at the place of the fault: unknown keys, a class without words, no class of copies or of the rest.
  static KernelClasses from_file(const std::filesystem::path& path);
  static KernelClasses from_document(const Document& document);

  const std::vector<RecordedClass>& classes() const { return classes_; }
  std::uint32_t class_of(std::string_view kernel) const;  // index in classes()
  std::uint32_t copies() const { return copies_; }        // the class of copies
  std::optional<std::int64_t> element_bytes(const std::string& type) const;
  // Returns the class of a prediction's operator by its name; nullptr: no class.
  const std::string* class_of_operator(std::string_view name) const;

 private:
  struct Rule {
    std::uint32_t cls;
    std::vector<std::string> words;  // in lower case
  };
  void add_operators(const Node& item);

  std::vector<RecordedClass> classes_;
  std::vector<Rule> rules_;
  std::vector<Rule> operator_rules_;
  std::uint32_t copies_ = 0;
  std::uint32_t rest_ = 0;
  std::map<std::string, std::int64_t> element_bytes_;
};

}  // namespace mirfak

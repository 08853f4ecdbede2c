#pragma once

#include "base/document.hpp"
#include "strategy/training.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Reads training.document_lengths: tokens of every document, or how many documents there are of each length,
// {512: 3, 2048: 1}. Error(input) at the entry for what is no length or no number.
std::vector<DocumentCount> read_document_lengths(const Node& node);

// The key as a line of the section `training`.
std::string document_lengths_yaml(const std::vector<DocumentCount>& documents);

}  // namespace mirfak

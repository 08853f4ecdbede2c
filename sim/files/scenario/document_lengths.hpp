#pragma once

#include "base/document.hpp"
#include "strategy/training.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Reads training.document_lengths: the tokens of every document, or the number of documents of each length, {512: 3,
// 2048: 1}. Error(input) at an entry that is not a length or not a number.
std::vector<DocumentCount> read_document_lengths(const Node& node);

// Returns the key document_lengths as a line of the section `training`.
std::string document_lengths_yaml(const std::vector<DocumentCount>& documents);

}  // namespace mirfak

#pragma once

#include "base/document.hpp"
#include "strategy/training.hpp"

#include <vector>

namespace mirfak {

// Reads training.document_lengths: the tokens of every document, or the number of documents of each length, {512: 3,
// 2048: 1}. Error(input) at an entry that is not a length or not a number.
void read_document_lengths(const Node& node, std::vector<DocumentCount>& documents);

// Returns the number of documents of each length.
Value document_lengths_value(const std::vector<DocumentCount>& documents);

}  // namespace mirfak

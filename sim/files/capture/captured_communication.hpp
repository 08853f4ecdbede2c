#pragma once

#include "capture/capture.hpp"
#include "chakra/chakra_price.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Returns the kind of a collective by its name in captures; nullopt for messages.
std::optional<ChakraCollective> collective_of(const CapturedCommunication& communication);

// Name of a group: its ranks, such as "0-3,8".
std::string group_name(const CapturedCommunication& communication);

// Price of each event of communication of each rank with events, in the order of its events.
struct PricedCommunication {
  std::vector<std::vector<CommunicationCost>> of_rank;  // by index of Capture::ranks
  std::vector<std::string> notes;
};

// Matches the communication of all captured ranks: the k-th collective of a group on one rank is the k-th on every
// other, and the k-th send of a rank to another is the k-th that the other receives from it. Ranks that are not
// captured are taken to do as the captured ones. An uneven exchange takes the time of its largest part. Error(input)
// with the rank, the module, the operation and its position for the first difference: another kind, format, operation,
// size or number.
PricedCommunication matched_communication(const Capture& capture, const CommunicationPrices& prices);

}  // namespace mirfak

#pragma once

#include "cost/collective_model.hpp"
#include "strategy/strategy.hpp"

namespace mirfak {

// Properties of an exchange of rows between the ranks of an expert group, in addition to its bytes and the places of
// the ranks.
struct ExpertExchange {
  ExpertDispatcher dispatcher = ExpertDispatcher::all_to_all;
  double experts = 1;    // experts of the layer, divided evenly over the group
  double per_token = 1;  // experts that a token visits, all equally likely
  double groups = 1;     // groups of neighboring experts; a token visits `groups_per_token`, all equally likely
  double groups_per_token = 1;
};

// Returns the expected number of `places` that hold at least one expert of a token.
double places_visited(const ExpertExchange& exchange, double places);
// Returns the expected number of `places` that receive a token.
double copies_per_token(const ExpertExchange& exchange, double places);

// Price of one exchange, to the experts or back. `bytes`: size of a rank's rows, one row for each expert that a token
// visits. `kind`: an all-to-all, or with all_gather a gather of tokens and a reduce-scatter.
//
// all_to_all sends every row. deep_ep and hybrid_ep send a token once to every scale-up domain that it visits, over the
// network to the rank at the same place there, and from that rank once to every rank of the domain that it visits; the
// two parts overlap, and the slower one decides. all_gather sends every token to every rank, and reduces and scatters
// on the way back.
CommunicationCost price_expert_exchange(const CollectiveModel& model, CollectiveKind kind, double bytes,
                                        const CommunicationGroup& group, const ExpertExchange& exchange);
Explanation explain_expert_exchange(const CollectiveModel& model, CollectiveKind kind, double bytes,
                                    const CommunicationGroup& group, const ExpertExchange& exchange);

}  // namespace mirfak

#pragma once

#include "cost/collective_model.hpp"
#include "strategy/strategy.hpp"

namespace mirfak {

// What an exchange of rows between the ranks of an expert group depends on beside its bytes and where the ranks are.
struct ExpertExchange {
  ExpertDispatcher dispatcher = ExpertDispatcher::all_to_all;
  double experts = 1;    // of the layer, divided evenly over the group
  double per_token = 1;  // experts that a token visits, any with equal chance
  double groups = 1;     // ... of those in `groups_per_token` of so many groups of neighbours, any with equal chance
  double groups_per_token = 1;
};

// The expected number of `places` that hold one of the experts of a token at least.
double places_visited(const ExpertExchange& exchange, double places);
// Of `places` to which a token is sent, how many get it.
double copies_per_token(const ExpertExchange& exchange, double places);

// One exchange, to the experts or back. `bytes`: of a rank's rows, one for each expert that a token visits. `kind`: an
// all-to-all, or with all_gather a gather of tokens and a reduce-scatter.
//
// all_to_all sends every row. deep_ep and hybrid_ep send a token once to every scale-up domain that it visits, over the
// network to the rank of the same place there, and from that rank once to every rank of the domain; the slower of the
// two, which overlap, decides. all_gather sends every token to every rank, and reduces and scatters on the way back.
CommunicationCost price_expert_exchange(const CollectiveModel& model, CollectiveKind kind, double bytes,
                                        const CommunicationGroup& group, const ExpertExchange& exchange);
Explanation explain_expert_exchange(const CollectiveModel& model, CollectiveKind kind, double bytes,
                                    const CommunicationGroup& group, const ExpertExchange& exchange);

}  // namespace mirfak

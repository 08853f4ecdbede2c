#pragma once

#include "serve/http_message.hpp"

#include <optional>
#include <string_view>

namespace mirfak::serve {

// Returns the reason why a request is not answered, judged by its head alone; nullopt if it may be answered.
//
// A page of another site, open in the same browser, can send requests to this machine. The page cannot choose their
// headers Host and Origin, nor send JSON without a prior CORS request, which no answer here allows. So:
// 403: the host is not this machine by a name of its own (DNS rebinding), or the origin is another site;
// 404: no such target; 405: not with this method; 415: a body that is not JSON.
std::optional<HttpAnswer> refusal_of(const HttpRequest& head);

// Returns the target without its query, the part from a '?' on.
std::string_view path_of(const HttpRequest& request);

}  // namespace mirfak::serve

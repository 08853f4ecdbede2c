#include "serve/request_rules.hpp"

#include "serve/error_answer.hpp"
#include "serve/targets.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace mirfak::serve {

namespace {

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// By any port: it may be another one that is forwarded to this (ssh -L).
bool is_this_machine(std::string_view host) {
  for (const std::string_view name : {"localhost", "127.0.0.1", "[::1]"}) {
    if (!host.starts_with(name)) continue;
    const std::string_view rest = host.substr(name.size());
    return rest.empty() || (rest.front() == ':' && is_port(rest.substr(1)));
  }
  return false;
}

bool is_json(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  constexpr std::string_view json = "application/json";
  return type.size() == json.size() && std::equal(type.begin(), type.end(), json.begin(), [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == b;
         });
}

std::optional<HttpAnswer> refusal_of_sender(const HttpRequest& head) {
  const std::optional<std::string_view> host = head.header("host");
  if (!host || !is_this_machine(*host)) {
    return error_answer(403, "this server answers to localhost and 127.0.0.1 only",
                        "open the address that mirfak serve printed");
  }
  if (head.count("origin") > 0 && head.header("origin") != "http://" + std::string(*host)) {
    return error_answer(403, "this server answers to its own page only", "");
  }
  const std::optional<std::string_view> site = head.header("sec-fetch-site");
  const bool of_page = head.target == "/";  // a link to it may stand anywhere
  if (head.count("sec-fetch-site") > 0 && !of_page && site != "same-origin" && site != "none") {
    return error_answer(403, "this server answers to its own page only", "");
  }
  return std::nullopt;
}

}  // namespace

std::string_view path_of(const HttpRequest& request) {
  const std::string_view target = request.target;
  return target.substr(0, target.find('?'));
}

std::optional<HttpAnswer> refusal_of(const HttpRequest& head) {
  if (auto refusal = refusal_of_sender(head)) return refusal;
  const Target* const target = find_target(path_of(head));
  if (target == nullptr) return error_answer(404, "there is nothing here", "open / for the page");
  const bool reads = head.method == "GET" || head.method == "HEAD";
  if (target->takes_body ? head.method != "POST" : !reads) {
    HttpAnswer answer = error_answer(405, "not with this method", "");
    answer.allow = target->takes_body ? "POST" : "GET, HEAD";
    return answer;
  }
  if (!target->takes_body) return std::nullopt;
  const std::optional<std::string_view> type = head.header("content-type");
  if (!type || !is_json(*type)) {
    return error_answer(415, "expected a body of the type application/json", "");
  }
  return std::nullopt;
}

}  // namespace mirfak::serve

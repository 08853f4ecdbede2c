#include "serve/request_rules.hpp"

#include "base/text.hpp"
#include "serve/error_answer.hpp"
#include "serve/targets.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <string>

namespace mirfak::serve {

namespace {

bool is_port(std::string_view text) {
  return text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// True for "[::1]" in any spelling.
bool is_own_v6(const std::string& host) {
  in6_addr address{};
  if (!host.starts_with('[') || !host.ends_with(']')) return false;
  return ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address) == 1 &&
         IN6_IS_ADDR_LOOPBACK(&address);
}

// A host and its port; -1: no port is stated.
struct Authority {
  std::string host;
  int port = -1;

  explicit Authority(std::string_view text) {
    const std::size_t behind = text.starts_with('[') ? text.find(']') : 0;
    const std::size_t colon = behind == std::string_view::npos ? behind : text.find(':', behind);
    host = lower_case(text.substr(0, colon));
    if (host.size() > 1 && host.ends_with('.')) host.pop_back();  // the absolute form of a name
    if (colon == std::string_view::npos) return;
    const std::string digits(text.substr(colon + 1));
    port = !is_port(digits) ? kNoPort : digits.empty() ? -1 : std::stoi(digits);
  }

  // True for this machine with any port: another port may be forwarded to this one (ssh -L).
  bool is_this_machine() const {
    const bool named = host == "localhost" || host == "127.0.0.1" || is_own_v6(host);
    return named && port <= kMostPort;
  }
  bool is(const Authority& other) const { return host == other.host && port_or_usual() == other.port_or_usual(); }

 private:
  static constexpr int kMostPort = 65535;
  static constexpr int kNoPort = kMostPort + 1;  // the text is no port
  int port_or_usual() const { return port < 0 ? 80 : port; }
};

constexpr std::string_view kScheme = "http://";

// True if the target names the server too, as it does for a proxy: "http://localhost:8137/".
bool is_absolute(std::string_view target) { return lower_case(target.substr(0, kScheme.size())) == kScheme; }

std::string_view authority_in(std::string_view address) {
  address.remove_prefix(kScheme.size());
  return address.substr(0, address.find_first_of("/?#"));
}

bool is_json(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  return lower_case(type) == "application/json";
}

bool is_origin(std::string_view origin, const Authority& host) {
  return is_absolute(origin) && authority_in(origin).size() + kScheme.size() == origin.size() &&
         Authority(authority_in(origin)).is(host);
}

std::optional<HttpAnswer> refusal_of_sender(const HttpRequest& head) {
  const std::optional<std::string_view> host = head.header("host");
  const bool absolute = is_absolute(head.target);
  if (!host || !Authority(*host).is_this_machine() ||
      (absolute && !Authority(authority_in(head.target)).is_this_machine())) {
    return error_answer(403, "this server answers to localhost and 127.0.0.1 only",
                        "open the address that mirfak serve printed");
  }
  const std::optional<std::string_view> origin = head.header("origin");
  if (head.count("origin") > 0 && (!origin || !is_origin(*origin, Authority(*host)))) {
    return error_answer(403, "this server answers to its own page only", "");
  }
  const std::optional<std::string_view> site = head.header("sec-fetch-site");
  const bool of_page = path_of(head) == "/";  // a link to the page may stand anywhere
  if (head.count("sec-fetch-site") > 0 && !of_page && site != "same-origin" && site != "none") {
    return error_answer(403, "this server answers to its own page only", "");
  }
  return std::nullopt;
}

}  // namespace

std::string_view path_of(const HttpRequest& request) {
  std::string_view target = request.target;
  if (is_absolute(target)) {
    target.remove_prefix(kScheme.size() + authority_in(target).size());
    if (target.empty() || target.front() != '/') target = "/";
  }
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

#include "serve/request_rules.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace mirfak::serve;

namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

const Headers kOwn = {{"host", "127.0.0.1:8137"}};
const Headers kOwnJson = {{"host", "127.0.0.1:8137"}, {"content-type", "application/json"}};

int status_of(const std::string& method, const std::string& target, const Headers& headers) {
  const auto refusal = refusal_of({method, target, headers, {}});
  return refusal ? refusal->status : 200;
}

int status_of_host(const std::string& host) { return status_of("GET", "/", {{"host", host}}); }

int status_with(const std::string& name, const std::string& value) {
  Headers headers = kOwnJson;
  headers.emplace_back(name, value);
  return status_of("POST", "/api/simulate", headers);
}

}  // namespace

TEST_CASE("only names of this machine itself are answered") {
  for (const char* host : {"127.0.0.1", "127.0.0.1:1", "localhost:8137", "localhost", "[::1]:65535", "LOCALHOST",
                           "LocalHost.:8137", "localhost:", "[0:0:0:0:0:0:0:1]:80", "[::0001]"}) {
    CAPTURE(host);
    CHECK(status_of_host(host) == 200);
  }
  for (const char* host :
       {"evil.example", "evil.example:8137", "localhost.evil.example", "127.0.0.1.evil.example", "", "localhost:80x",
        "localhost:123456", "localhost:65536", "127.0.0.1:8137@evil.example", "0.0.0.0", "localhost..", ".",
        "127.0.0.2", "[::1", "[::2]", "::1", "[::1]x", "user@localhost"}) {
    CAPTURE(host);
    CHECK(status_of_host(host) == 403);
  }
  CHECK(status_of("GET", "/", {}) == 403);
  CHECK(status_of("GET", "/", {{"host", "localhost"}, {"host", "evil.example"}}) == 403);
}

TEST_CASE("other sites are refused by their origin") {
  CHECK(status_with("origin", "http://127.0.0.1:8137") == 200);
  CHECK(status_of("POST", "/api/simulate",
                  {{"host", "LOCALHOST:80"}, {"origin", "http://localhost"}, {"content-type", "application/json"}}) ==
        200);
  for (const char* origin : {"http://evil.example", "null", "https://127.0.0.1:8137", "http://127.0.0.1:9",
                             "http://localhost:8137", "", "http://127.0.0.1:8137/"}) {
    CAPTURE(origin);
    CHECK(status_with("origin", origin) == 403);
  }
  CHECK(status_with("sec-fetch-site", "same-origin") == 200);
  CHECK(status_with("sec-fetch-site", "cross-site") == 403);
  CHECK(status_with("sec-fetch-site", "same-site") == 403);
  const Headers linked = {{"host", "localhost:8137"}, {"sec-fetch-site", "cross-site"}};
  CHECK(status_of("GET", "/", linked) == 200);  // a link on another page
  CHECK(status_of("GET", "/api/catalogue", linked) == 403);
}

TEST_CASE("a body is JSON, or it is not read") {
  for (const char* type : {"application/json", "Application/JSON", "application/json; charset=utf-8"}) {
    CAPTURE(type);
    CHECK(status_of("POST", "/api/search", {{"host", "localhost"}, {"content-type", type}}) == 200);
  }
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                           "application/jsonx", "text/plain; application/json", ""}) {
    CAPTURE(type);
    CHECK(status_of("POST", "/api/search", {{"host", "localhost"}, {"content-type", type}}) == 415);
  }
  CHECK(status_of("POST", "/api/search", kOwn) == 415);
}

TEST_CASE("a target may name the server") {
  CHECK(status_of("GET", "http://localhost:8137/", kOwn) == 200);
  CHECK(status_of("GET", "HTTP://127.0.0.1:8137", kOwn) == 200);
  CHECK(status_of("GET", "http://127.0.0.1:8137/form.js?x", kOwn) == 200);
  CHECK(status_of("GET", "http://127.0.0.1:8137/none", kOwn) == 404);
  CHECK(status_of("GET", "http://evil.example/", kOwn) == 403);
  CHECK(status_of("GET", "http://127.0.0.1:8137/", {{"host", "evil.example"}}) == 403);
}

TEST_CASE("there is a table of targets, and no path of files") {
  for (const char* target : {"/../../etc/passwd", "/..%2f..%2fetc/passwd", "//", "/form.js/", "/assets/form.js", "*",
                             "", "/api", "/api/simulate/", "/%66orm.js", "/./"}) {
    CAPTURE(target);
    CHECK(status_of("GET", target, kOwn) == 404);
  }
  CHECK(status_of("GET", "/?x=../..", kOwn) == 200);
  CHECK(status_of("HEAD", "/form.css", kOwn) == 200);
}

TEST_CASE("a target is asked by its own method") {
  for (const char* method : {"PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH", "POST", "get"}) {
    CAPTURE(method);
    const auto refusal = refusal_of({method, "/", kOwnJson, {}});
    REQUIRE(refusal.has_value());
    CHECK(refusal->status == 405);
    CHECK(refusal->allow == "GET, HEAD");
  }
  const auto refusal = refusal_of({"GET", "/api/simulate", kOwn, {}});
  REQUIRE(refusal.has_value());
  CHECK(refusal->status == 405);
  CHECK(refusal->allow == "POST");
}

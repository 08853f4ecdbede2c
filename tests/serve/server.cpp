// The server by itself, with limits so short that a test can wait for them.

#include "serve/http_server.hpp"

#include "base/error.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace mirfak::serve;
using namespace std::chrono_literals;
using boost::asio::ip::tcp;
using Clock = std::chrono::steady_clock;

namespace {

HttpLimits short_limits() {
  HttpLimits limits;
  limits.header_bytes = 512;
  limits.body_bytes = 1000;
  limits.connections = 4;
  limits.read = 300ms;
  limits.linger = 200ms;
  return limits;
}

// Messages between a test and the server's handlers.
struct Signals {
  std::atomic<int> given_up{0};
  std::atomic<bool> released{false};
};

// "/quick" echoes; "/no" is refused by its head; the others work until they are given up or released: "/long" may take
// 400 ms, "/endless" any time.
HttpHandlers echo_handlers(Signals& signals) {
  HttpHandlers handlers;
  handlers.refusal = [](const HttpRequest& head) -> std::optional<HttpAnswer> {
    if (head.target != "/no") return std::nullopt;
    return HttpAnswer{403, "text/plain", "no"};
  };
  handlers.work = [](const HttpRequest& request) {
    if (request.target == "/quick") return HttpWork{HttpWork::Lane::quick, 5s};
    return HttpWork{HttpWork::Lane::slow, request.target == "/long" ? 400ms : std::chrono::milliseconds(1h)};
  };
  handlers.answer = [&](const HttpRequest& request, const std::atomic<bool>& given_up) {
    if (request.target == "/quick") return HttpAnswer{200, "text/plain", request.method + " " + request.body};
    const auto end = Clock::now() + 60s;  // of a test that fails
    while (!given_up && !signals.released && Clock::now() < end) std::this_thread::sleep_for(2ms);
    if (!given_up) return HttpAnswer{200, "text/plain", "done"};
    ++signals.given_up;
    return HttpAnswer{503, "text/plain", "given up"};
  };
  return handlers;
}

class RunningServer {
 public:
  RunningServer()
      : server_(0, echo_handlers(*signals), short_limits()),
        thread_([this] { server_.run([this] { return ended_.load(); }); }) {}
  ~RunningServer() {
    ended_ = true;
    thread_.join();
  }
  std::uint16_t port() const { return server_.port(); }

  const std::shared_ptr<Signals> signals = std::make_shared<Signals>();

 private:
  std::atomic<bool> ended_{false};
  HttpServer server_;
  std::thread thread_;
};

class Client {
 public:
  explicit Client(const RunningServer& server) : socket_(context_) {
    socket_.connect({boost::asio::ip::address_v4::loopback(), server.port()});
  }
  void send(const std::string& text) {
    boost::system::error_code ignored;  // of a server that has closed
    boost::asio::write(socket_, boost::asio::buffer(text), ignored);
  }
  void close() { socket_.close(); }
  void end_sending() { socket_.shutdown(tcp::socket::shutdown_send); }
  std::string rest() {
    std::string out;
    boost::system::error_code end;
    boost::asio::read(socket_, boost::asio::dynamic_buffer(out), end);
    return out;
  }
  std::string until(const std::string& mark) {
    std::string out;
    char letter = 0;
    while (out.find(mark) == std::string::npos && socket_.read_some(boost::asio::buffer(&letter, 1)) == 1)
      out += letter;
    return out;
  }

 private:
  boost::asio::io_context context_;
  tcp::socket socket_;
};

std::string post(const std::string& target, const std::string& body, const std::string& headers = {}) {
  return "POST " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string answer_to(const RunningServer& server, const std::string& text) {
  Client client(server);
  client.send(text);
  return client.rest();
}

const std::string kClose = "Connection: close\r\n";

}  // namespace

TEST_CASE("requests of one connection are answered in their order, early ones too") {
  const RunningServer server;
  const std::string all =
      answer_to(server, post("/quick", "one") + post("/quick", "two") + post("/quick", "three", kClose));
  const std::size_t one = all.find("POST one");
  const std::size_t two = all.find("POST two");
  const std::size_t three = all.find("POST three");
  CHECK(one < two);
  CHECK(two < three);
  CHECK(three != std::string::npos);
}

TEST_CASE("every answer keeps other sites out") {
  const RunningServer server;
  const std::string answer = answer_to(server, post("/quick", "", kClose));
  for (const char* header :
       {"Content-Security-Policy: default-src 'none'", "frame-ancestors 'none'", "X-Content-Type-Options: nosniff",
        "Referrer-Policy: no-referrer", "Cache-Control: no-store"}) {
    CAPTURE(header);
    CHECK(answer.find(header) != std::string::npos);
  }
  CHECK(answer.find("Access-Control-Allow") == std::string::npos);
}

TEST_CASE("what is too large is refused") {
  const RunningServer server;
  CHECK(answer_to(server, post("/quick", std::string(1001, 'x'))).starts_with("HTTP/1.1 413"));
  CHECK(answer_to(server, post("/quick", "", "X: " + std::string(600, 'x') + "\r\n")).starts_with("HTTP/1.1 431"));
  const std::string chunked = "POST /quick HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string chunks;
  for (int i = 0; i < 11; ++i) chunks += "64\r\n" + std::string(100, 'x') + "\r\n";
  CHECK(answer_to(server, chunked + chunks).starts_with("HTTP/1.1 413"));
  CHECK(answer_to(server, chunked + "fffffffffffffffff\r\n").starts_with("HTTP/1.1 400"));
  const std::string all = answer_to(server, chunked + "3\r\nabc\r\n0\r\n\r\n" + post("/quick", "", kClose));
  CHECK(all.find("POST abc") != std::string::npos);
}

TEST_CASE("what is no request is refused, and the connection closed") {
  const RunningServer server;
  for (const char* text : {"nonsense\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /\r\n\r\n",
                           "\x16\x03\x01\x02 TLS\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                           "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"}) {
    CAPTURE(text);
    CHECK(answer_to(server, text).starts_with("HTTP/1.1 400"));
  }
}

TEST_CASE("a refusal by the head comes before the body") {
  const RunningServer server;
  Client client(server);
  client.send("POST /no HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n");
  CHECK(client.rest().starts_with("HTTP/1.1 403"));
}

TEST_CASE("a request that trickles in is given up by its whole time") {
  const RunningServer server;
  Client client(server);
  std::atomic<bool> answered{false};
  std::atomic<bool> ran_dry{false};
  std::thread trickle([&] {
    client.send("GET /quick HTTP/1.1\r\nX: ");
    for (int letter = 0; letter < 400 && !answered; ++letter) {  // less than a head may have, for 20 s
      client.send("x");
      std::this_thread::sleep_for(50ms);
    }
    ran_dry = !answered;
  });
  const std::string answer = client.rest();
  answered = true;
  trickle.join();
  CHECK(answer.starts_with("HTTP/1.1 408"));
  CHECK_FALSE(ran_dry);
}

TEST_CASE("an idle connection is closed without a word") {
  const RunningServer server;
  Client client(server);
  CHECK(client.rest().empty());
}

TEST_CASE("work that takes too long is given up") {
  const RunningServer server;
  CHECK(answer_to(server, post("/long", "", kClose)).starts_with("HTTP/1.1 503"));
  CHECK(server.signals->given_up == 1);
}

TEST_CASE("work is given up when its client has gone") {
  const RunningServer server;
  {
    Client client(server);
    client.send(post("/endless", ""));
    std::this_thread::sleep_for(50ms);
  }
  const auto end = Clock::now() + 30s;
  while (server.signals->given_up == 0 && Clock::now() < end) std::this_thread::sleep_for(5ms);
  CHECK(server.signals->given_up == 1);
}

TEST_CASE("a client that sends nothing more, and waits, gets its answer") {
  const RunningServer server;
  Client quick(server);
  quick.send(post("/quick", "body"));
  quick.end_sending();
  CHECK(quick.rest().ends_with("POST body"));
  Client slow(server);
  slow.send(post("/endless", ""));
  slow.end_sending();
  CHECK(slow.until("\r\n\r\n").starts_with("HTTP/1.1 100 Continue"));  // the server looks whether it is still there
  server.signals->released = true;
  CHECK(slow.rest().ends_with("done"));
  CHECK(server.signals->given_up == 0);
  Client early(server);
  early.send("POST /quick HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf");
  early.end_sending();
  CHECK(early.rest().starts_with("HTTP/1.1 400"));
}

TEST_CASE("a client may ask before it sends a body") {
  const RunningServer server;
  Client client(server);
  const std::string head = "POST /quick HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nConnection: close\r\n";
  client.send(head + "Expect: 100-Continue\r\n\r\n");
  CHECK(client.until("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("body");
  CHECK(client.rest().ends_with("POST body"));
  CHECK(answer_to(server, head + "Expect: tea\r\n\r\n").starts_with("HTTP/1.1 417"));
  Client refused(server);
  refused.send("POST /no HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  CHECK(refused.rest().starts_with("HTTP/1.1 403"));
}

TEST_CASE("one connection too many is told so, and the others are served") {
  const RunningServer server;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<Client>(server));
    clients.back()->send(post("/quick", std::to_string(i)));
    CHECK(clients.back()->until("POST " + std::to_string(i)).starts_with("HTTP/1.1 200"));
  }
  Client fifth(server);
  CHECK(fifth.rest().starts_with("HTTP/1.1 503"));
  clients.front()->send(post("/quick", "again"));
  CHECK(clients.front()->until("POST again").starts_with("HTTP/1.1 200"));
}

TEST_CASE("the server ends while work is under way") {
  std::shared_ptr<Signals> signals;
  {
    const RunningServer server;
    signals = server.signals;
    Client client(server);
    client.send(post("/endless", ""));
    std::this_thread::sleep_for(30ms);
  }
  CHECK(signals->given_up == 1);
}

TEST_CASE("a port that is taken is an error that says what to do") {
  const RunningServer server;
  Signals none;
  try {
    const HttpServer second(server.port(), echo_handlers(none));
    FAIL("it listens twice");
  } catch (const mirfak::Error& error) {
    CHECK(error.kind() == mirfak::ErrorKind::input);
    CHECK(error.hint().find("--port 0") != std::string::npos);
  }
}

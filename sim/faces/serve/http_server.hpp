#pragma once

#include "serve/http_message.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace mirfak::serve {

// Limits on one client, or on all clients together.
struct HttpLimits {
  std::uint32_t header_bytes = 8 * 1024;
  std::uint64_t body_bytes = 512 * 1024;
  std::size_t connections = 64;            // clients above this number are told to come back, and closed
  std::chrono::milliseconds read{10'000};  // from the first wait for a request to its last byte
  std::chrono::milliseconds write{10'000};
  std::chrono::milliseconds linger{2'000};  // time to read on from a refused client, so that it sees the refusal
};

// The time limit for the answer to a request, and the thread that works on it.
struct HttpWork {
  enum class Lane { at_once, quick, slow };
  Lane lane = Lane::at_once;                // at_once: the thread that serves the network
  std::chrono::milliseconds limit{10'000};  // after this time the work is given up
};

// The functions that answer requests. They are called from several threads at once, except `refusal` and `work`, which
// only the thread that serves the network calls.
struct HttpHandlers {
  // Takes a request whose body was not read yet. Returns nullopt, or the reason why the body must not be read; the
  // connection is then closed.
  std::function<std::optional<HttpAnswer>(const HttpRequest&)> refusal;
  std::function<HttpWork(const HttpRequest&)> work;
  // Answers a request. `given_up` is set when the time is over, the client has gone, or the server ends. Must not
  // throw.
  std::function<HttpAnswer(const HttpRequest&, const std::atomic<bool>& given_up)> answer;
};

// An HTTP/1.1 server of this machine alone: it listens on 127.0.0.1.
class HttpServer {
 public:
  // `port` 0: any free port. Error(input) if the port is taken or not allowed.
  HttpServer(std::uint16_t port, HttpHandlers handlers, HttpLimits limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;  // the port that the server listens on

  // Serves until `ended` returns true; `ended` is called twenty times a second. Work in progress is then given up.
  void run(const std::function<bool()>& ended);

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace mirfak::serve

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

// What one client, or all together, may take.
struct HttpLimits {
  std::uint32_t header_bytes = 8 * 1024;
  std::uint64_t body_bytes = 512 * 1024;
  std::size_t connections = 64;            // more are told to come back, and closed
  std::chrono::milliseconds read{10'000};  // from the first wait for a request to its last byte
  std::chrono::milliseconds write{10'000};
  std::chrono::milliseconds linger{2'000};  // reading on from a client that was refused, so that it sees the refusal
};

// How long a request's answer may take, and with whom it shares a thread.
struct HttpWork {
  enum class Lane { at_once, quick, slow };
  Lane lane = Lane::at_once;                // at_once: by the thread that serves the network
  std::chrono::milliseconds limit{10'000};  // then the work is given up
};

// What a server answers. Called from several threads at once, but for `refusal` and `work`, which only the thread that
// serves the network calls.
struct HttpHandlers {
  // Of a request whose body was not read yet: nothing, or why it is not to be read. The connection is then closed.
  std::function<std::optional<HttpAnswer>(const HttpRequest&)> refusal;
  std::function<HttpWork(const HttpRequest&)> work;
  // `given_up` is set when the time is over, or the client has gone, or the server ends. Must not throw.
  std::function<HttpAnswer(const HttpRequest&, const std::atomic<bool>& given_up)> answer;
};

// An HTTP/1.1 server of this machine alone: it listens on 127.0.0.1.
class HttpServer {
 public:
  // `port` 0: one that is free. Error(input) where it is taken or not allowed.
  HttpServer(std::uint16_t port, HttpHandlers handlers, HttpLimits limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;  // that it listens on

  // Serves until `ended`, which is asked twenty times a second, says so. Work that is under way is given up.
  void run(const std::function<bool()>& ended);

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace mirfak::serve

#pragma once

#include "serve/http_server.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace mirfak::serve {

// The data that the sessions of a server share.
struct HttpShared {
  HttpHandlers handlers;
  HttpLimits limits;
  boost::asio::thread_pool quick;
  boost::asio::thread_pool slow;
};

// One connection: reads a request, has it answered, reads the next request. Everything except the answering runs on the
// thread that serves the network. The session keeps itself alive while it waits, and every wait has an end.
class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(boost::asio::ip::tcp::socket socket, HttpShared& shared, std::function<void()> on_end);
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  void start();
  void turn_away();  // too many connections
  void give_up();    // the server ends

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;

  void read_head();
  void judge_head();
  void read_body();
  void have_answered();
  void watch_client();
  void look_for_client();
  bool speaks_1_1() const;
  void respond(HttpAnswer answer, bool keep_alive);
  void read_failed(const boost::system::error_code& error);
  void drain();
  void close();
  void expire_after(std::chrono::milliseconds time, std::function<void()> then);

  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer look_timer_;  // detects a client that sends nothing any more
  int look_ = 0;
  bool answered_ = false;
  std::uint64_t timer_of_ = 0;  // number of the timer's current purpose: late calls for an old purpose are ignored
  HttpShared& shared_;
  std::function<void()> on_end_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  HttpRequest request_;
  std::shared_ptr<std::atomic<bool>> given_up_;
  std::shared_ptr<Response> response_;
  bool timed_out_ = false;
};

}  // namespace mirfak::serve

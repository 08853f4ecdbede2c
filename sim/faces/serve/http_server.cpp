#include "serve/http_server.hpp"

#include "base/error.hpp"
#include "serve/http_session.hpp"

#include <boost/asio/io_context.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

namespace mirfak::serve {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::chrono::milliseconds kLook{50};

std::size_t quick_threads() { return std::max(2U, std::thread::hardware_concurrency()); }

}  // namespace

class HttpServer::Listener {
 public:
  Listener(std::uint16_t port, HttpHandlers handlers, HttpLimits limits)
      : acceptor_(network_),
        look_(network_),
        shared_{std::move(handlers), limits, asio::thread_pool(quick_threads()), asio::thread_pool(1)} {
    const tcp::endpoint here(asio::ip::address_v4::loopback(), port);
    error_code failed;
    acceptor_.open(here.protocol(), failed);
    if (!failed) acceptor_.set_option(tcp::acceptor::reuse_address(true), failed);
    if (!failed) acceptor_.bind(here, failed);
    if (!failed) acceptor_.listen(tcp::acceptor::max_listen_connections, failed);
    if (failed) {
      fail_input({}, fmt::format("--port {}: cannot listen on 127.0.0.1: {}", port, failed.message()),
                 "choose another port; --port 0 takes one that is free");
    }
  }

  ~Listener() { end(); }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  void run(const std::function<bool()>& ended) {
    accept();
    look(ended);
    network_.run();
    end();
  }

 private:
  void accept() {
    acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) return accept_later();  // out of file descriptors: wait until some are free
      admit(std::move(socket));
      accept();
    });
  }

  void accept_later() {
    pause_.expires_after(kLook);
    pause_.async_wait([this](const error_code& error) {
      if (!error) accept();
    });
  }

  void admit(tcp::socket socket) {
    const bool full = sessions_.size() >= shared_.limits.connections;
    if (sessions_.size() >= 4 * shared_.limits.connections) return;  // closed without a word
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    const auto place = std::make_shared<HttpSession*>(nullptr);
    const auto session =
        std::make_shared<HttpSession>(std::move(socket), shared_, [this, place] { sessions_.erase(*place); });
    *place = session.get();
    sessions_.insert(session.get());
    full ? session->turn_away() : session->start();
  }

  void look(const std::function<bool()>& ended) {
    look_.expires_after(kLook);
    look_.async_wait([this, &ended](const error_code& error) {
      if (error) return;
      if (ended()) return network_.stop();
      look(ended);
    });
  }

  // Ends the server. Tasks that workers still post do not run: their sessions end with the context's queue.
  void end() {
    error_code ignored;
    acceptor_.close(ignored);
    for (HttpSession* session : sessions_) session->give_up();
    shared_.quick.join();
    shared_.slow.join();
  }

  std::set<HttpSession*> sessions_;  // destroyed after the context, whose last sessions remove themselves
  asio::io_context network_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer look_;
  asio::steady_timer pause_{network_};
  HttpShared shared_;
};

HttpServer::HttpServer(std::uint16_t port, HttpHandlers handlers, HttpLimits limits)
    : listener_(std::make_unique<Listener>(port, std::move(handlers), limits)) {}

HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const { return listener_->port(); }

void HttpServer::run(const std::function<bool()>& ended) { listener_->run(ended); }

}  // namespace mirfak::serve

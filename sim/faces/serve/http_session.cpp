#include "serve/http_session.hpp"

#include "base/text.hpp"
#include "serve/error_answer.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include <sys/socket.h>

#include <array>
#include <utility>

namespace mirfak::serve {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::chrono::milliseconds kBetweenLooks{40};
constexpr int kLooksBetweenWords = 25;
constexpr int kFirstWord = 3;  // most answers are ready before; the next send finds the reset that this one causes

// Adds headers for a page of this machine alone: nothing is loaded from elsewhere, nothing is stored, no site frames
// it.
void add_fixed_headers(http::fields& fields) {
  fields.set(http::field::cache_control, "no-store");
  fields.set("X-Content-Type-Options", "nosniff");
  fields.set("Referrer-Policy", "no-referrer");
  fields.set("Cross-Origin-Opener-Policy", "same-origin");
  fields.set("Cross-Origin-Resource-Policy", "same-origin");
  fields.set("X-Frame-Options", "DENY");
  fields.set("Content-Security-Policy",
             "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
             "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
}

template <typename Fields>
HttpRequest head_of(const Fields& message) {
  HttpRequest out;
  out.method = std::string(message.method_string());
  out.target = std::string(message.target());
  for (const auto& field : message) {
    out.headers.emplace_back(lower_case(std::string(field.name_string())), std::string(field.value()));
  }
  return out;
}

}  // namespace

HttpSession::HttpSession(asio::ip::tcp::socket socket, HttpShared& shared, std::function<void()> on_end)
    : socket_(std::move(socket)),
      timer_(socket_.get_executor()),
      look_timer_(socket_.get_executor()),
      shared_(shared),
      on_end_(std::move(on_end)),
      buffer_(shared.limits.header_bytes + 64 * 1024),
      given_up_(std::make_shared<std::atomic<bool>>(false)) {}

HttpSession::~HttpSession() { on_end_(); }

void HttpSession::start() { read_head(); }

void HttpSession::turn_away() {
  respond(error_answer(503, "too many connections", "close some pages of this server, then try again"), false);
}

void HttpSession::give_up() {
  *given_up_ = true;
  close();
}

void HttpSession::expire_after(std::chrono::milliseconds time, std::function<void()> then) {
  const std::uint64_t which = ++timer_of_;
  timer_.expires_after(time);
  timer_.async_wait([self = shared_from_this(), which, then = std::move(then)](const error_code& error) {
    if (!error && which == self->timer_of_) then();
  });
}

// Reads the head. The time to read a request counts from here to its last byte, however slowly the bytes arrive.
void HttpSession::read_head() {
  parser_.emplace();
  parser_->header_limit(shared_.limits.header_bytes);
  parser_->body_limit(shared_.limits.body_bytes);
  timed_out_ = false;
  expire_after(shared_.limits.read, [this] {
    timed_out_ = true;
    error_code ignored;
    socket_.cancel(ignored);
  });
  http::async_read_header(socket_, buffer_, *parser_,
                          [self = shared_from_this()](const error_code& error, std::size_t /*bytes*/) {
                            error ? self->read_failed(error) : self->judge_head();
                          });
}

void HttpSession::judge_head() {
  request_ = head_of(parser_->get());
  if (auto refusal = shared_.handlers.refusal(request_)) return respond(std::move(*refusal), false);
  const std::optional<std::string_view> expected = request_.header("expect");
  if (!expected || !speaks_1_1() || parser_->is_done()) return read_body();
  if (lower_case(*expected) != "100-continue") {
    return respond(error_answer(417, "nothing can be expected here but 100-continue", ""), false);
  }
  asio::async_write(socket_, asio::buffer(kContinue),
                    [self = shared_from_this()](const error_code& error, std::size_t /*bytes*/) {
                      error ? self->close() : self->read_body();
                    });
}

bool HttpSession::speaks_1_1() const { return parser_ && parser_->is_header_done() && parser_->get().version() >= 11; }

void HttpSession::read_body() {
  http::async_read(socket_, buffer_, *parser_,
                   [self = shared_from_this()](const error_code& error, std::size_t /*bytes*/) {
                     if (error) return self->read_failed(error);
                     self->request_.body = std::move(self->parser_->get().body());
                     self->have_answered();
                   });
}

void HttpSession::read_failed(const error_code& error) {
  if (error == http::error::body_limit) {
    return respond(error_answer(413, "the request is larger than this server reads", "send a shorter scenario"), false);
  }
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return respond(error_answer(431, "the request's headers are larger than this server reads", ""), false);
  }
  if (timed_out_ && parser_->got_some()) {
    return respond(error_answer(408, "the request did not arrive in time", "send it again"), false);
  }
  const bool of_http = error.category() == http::make_error_code(http::error::bad_method).category();
  if (timed_out_ || !of_http || error == http::error::end_of_stream) return close();
  if (error == http::error::partial_message) {
    return respond(error_answer(400, "the request ended before it was complete", "send all of it"), false);
  }
  respond(error_answer(400, "this is no HTTP request: " + error.message(), ""), false);
}

void HttpSession::have_answered() {
  const bool keep_alive = parser_->get().keep_alive();
  const HttpWork work = shared_.handlers.work(request_);
  if (work.lane == HttpWork::Lane::at_once) {
    return respond(shared_.handlers.answer(request_, *given_up_), keep_alive);
  }
  given_up_ = std::make_shared<std::atomic<bool>>(false);
  answered_ = false;
  look_ = 0;
  expire_after(work.limit, [this] { *given_up_ = true; });
  watch_client();
  asio::thread_pool& pool = work.lane == HttpWork::Lane::quick ? shared_.quick : shared_.slow;
  asio::post(pool, [self = shared_from_this(), flag = given_up_, request = std::move(request_),
                    answer = &shared_.handlers.answer, keep_alive]() mutable {
    auto answered = std::make_shared<HttpAnswer>((*answer)(request, *flag));
    const auto executor = self->socket_.get_executor();
    asio::post(executor, [self = std::move(self), answered = std::move(answered), keep_alive]() {
      self->respond(std::move(*answered), keep_alive);
    });
  });
}

// Watches the client: if it has gone, no answer is needed. A next request that arrives early is read later.
void HttpSession::watch_client() {
  socket_.async_wait(asio::ip::tcp::socket::wait_read, [self = shared_from_this()](const error_code& error) {
    if (!error) self->look_for_client();
  });
}

// Looks for a client that has gone. The end of its data looks the same if it has gone or waits for the answer (as `nc
// -N` does). The server therefore sends it an interim response, which every client of HTTP/1.1 must understand at any
// time: the machine of a client that has gone answers with a reset.
void HttpSession::look_for_client() {
  if (!socket_.is_open() || answered_) return;
  char first = 0;
  error_code failed;
  const std::size_t got = socket_.receive(asio::buffer(&first, 1), asio::ip::tcp::socket::message_peek, failed);
  if (!failed && got > 0) return;
  // After the end of the data, reading reveals nothing more; the error state after the interim response does.
  int reset = 0;
  socklen_t size = sizeof(reset);
  const bool told = ::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_ERROR, &reset, &size) == 0;
  if (failed != asio::error::eof || !told || reset != 0) {
    *given_up_ = true;
    return;
  }
  const int place = look_ % kLooksBetweenWords;
  if (speaks_1_1() && (place == kFirstWord || place == kFirstWord + 1)) {
    const ssize_t sent =
        ::send(socket_.native_handle(), kContinue.data(), kContinue.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(kContinue.size())) return give_up();
  }
  ++look_;
  look_timer_.expires_after(kBetweenLooks);
  look_timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->look_for_client();
  });
}

void HttpSession::respond(HttpAnswer answer, bool keep_alive) {
  if (!socket_.is_open()) return;
  error_code ignored;
  answered_ = true;
  look_timer_.cancel();
  socket_.cancel(ignored);
  response_ = std::make_shared<Response>(static_cast<http::status>(answer.status), 11);
  add_fixed_headers(*response_);
  if (!answer.content_type.empty()) response_->set(http::field::content_type, answer.content_type);
  if (!answer.allow.empty()) response_->set(http::field::allow, answer.allow);
  if (answer.status == 503) response_->set(http::field::retry_after, "1");
  response_->keep_alive(keep_alive);
  const bool head = parser_ && parser_->is_header_done() && parser_->get().method() == http::verb::head;
  response_->content_length(answer.body.size());
  if (!head) response_->body() = std::move(answer.body);
  expire_after(shared_.limits.write, [this] { close(); });
  http::async_write(socket_, *response_,
                    [self = shared_from_this(), keep_alive](const error_code& error, std::size_t /*bytes*/) {
                      if (error) return self->close();
                      keep_alive ? self->read_head() : self->drain();
                    });
}

// Reads on before closing: a close with unread bytes would reset the connection, and the client might never see the
// answer.
void HttpSession::drain() {
  error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  expire_after(shared_.limits.linger, [this] { close(); });
  const auto waste = std::make_shared<std::array<char, 16384>>();
  const auto read_on = std::make_shared<std::function<void()>>();
  *read_on = [self = shared_from_this(), waste, again = std::weak_ptr(read_on)] {
    self->socket_.async_read_some(asio::buffer(*waste),
                                  [self, again = again.lock()](const error_code& error, std::size_t /*bytes*/) {
                                    error ? self->close() : (*again)();
                                  });
  };
  (*read_on)();
}

void HttpSession::close() {
  ++timer_of_;
  timer_.cancel();
  look_timer_.cancel();
  error_code ignored;
  socket_.close(ignored);
}

}  // namespace mirfak::serve

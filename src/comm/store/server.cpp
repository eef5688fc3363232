#include "server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <optional>
#include <vector>

#include "requests.h"
#include "session.h"
#include "sheaf/base/error.h"
#include "sheaf/base/log.h"

namespace sheaf::comm::store {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kGreetingLimit = 5s;
constexpr std::size_t kMostStrangers = 64;
// New connections between two looks at the others.
constexpr int kMostAtOnce = 64;
// How often waits that have a limit are looked at.
constexpr auto kTick = 50ms;

}  // namespace

class Server::Loop {
 public:
  Loop(Listener listener, ServerOptions options)
      : listener_(std::move(listener)),
        options_(std::move(options)),
        wake_up_(::eventfd(0, EFD_CLOEXEC)) {
    if (!wake_up_.is_open()) throw IoError("no event descriptor for the store");
  }

  void run() {
    while (!stop_) {
      wait();
      accept_all();
      for (auto& each : sessions_) serve(each);
      for (auto& each : sessions_) answer_waiting(each);
      for (auto& each : sessions_) each.session.flush();
      remove_those_over();
    }
    if (num_refused_ > 1) {
      log::warning("store", fmt::format("refused {} connections in all", num_refused_));
    }
  }

  void stop() {
    stop_ = true;
    ::eventfd_write(wake_up_.get(), 1);
  }

 private:
  struct Entry {
    Session session;
    std::optional<Waiting> waiting{};
    bool has_input = false;
  };

  void wait() {
    std::vector<pollfd> looks{{.fd = wake_up_.get(), .events = POLLIN, .revents = 0},
                              {.fd = listener_.socket.get(), .events = POLLIN, .revents = 0}};
    // Without a descriptor left for it, a connection would wake this up again and again.
    if (is_full_) looks.back().events = 0;
    bool ticks = is_full_;
    for (const auto& each : sessions_) {
      const auto output = static_cast<short>(each.session.has_output() ? POLLOUT : 0);
      looks.push_back({.fd = each.session.socket().get(),
                       .events = static_cast<short>(POLLIN | output),
                       .revents = 0});
      ticks = ticks || each.waiting.has_value() || each.session.is_stranger();
    }
    ::poll(looks.data(), looks.size(), ticks ? static_cast<int>(kTick / 1ms) : -1);
    is_full_ = false;
    auto look = looks.begin() + 2;
    for (auto& each : sessions_) each.has_input = (look++)->revents != 0;
  }

  void accept_all() {
    for (int turn = 0; turn < kMostAtOnce; ++turn) {
      FileDescriptor socket(
          ::accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket.is_open()) {
        is_full_ = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        return;
      }
      keep_descriptors_free(socket);
      break_after_silence(socket, options_.silence);
      sessions_.push_back({.session = Session(std::move(socket), options_.secret)});
      make_way();
    }
  }

  // The oldest stranger goes when there are too many.
  void make_way() {
    const auto is_stranger = [](const Entry& each) { return each.session.is_stranger(); };
    const auto count = std::count_if(sessions_.begin(), sessions_.end(), is_stranger);
    if (static_cast<std::size_t>(count) <= kMostStrangers) return;
    std::find_if(sessions_.begin(), sessions_.end(), is_stranger)->session.end();
  }

  void serve(Entry& each) {
    Session& session = each.session;
    if (session.is_over()) return;
    if (session.is_stranger() && Clock::now() - session.since() > kGreetingLimit) session.end();
    if (!each.has_input) return;
    for (const std::string& request : session.receive()) {
      each.waiting = requests_.take(request, session);
    }
    if (session.state() == Session::State::refused) on_refused(session);
  }

  void answer_waiting(Entry& each) {
    if (!each.waiting.has_value() || each.session.is_over()) return;
    if (requests_.try_to_answer(*each.waiting, each.session)) each.waiting.reset();
  }

  // One line however many there are: a flood of strangers must not become one of lines.
  void on_refused(const Session& session) {
    if (++num_refused_ > 1) return;
    log::warning("store",
                 fmt::format("refused {}, which does not know the secret of this run; further ones "
                             "are only counted",
                             peer_of(session.socket())));
  }

  void remove_those_over() {
    for (auto& each : sessions_) {
      if (each.session.is_over()) requests_.on_end(each.session);
    }
    sessions_.remove_if([](const Entry& each) { return each.session.is_over(); });
  }

  Listener listener_;
  ServerOptions options_;
  FileDescriptor wake_up_;
  std::atomic<bool> stop_ = false;
  Requests requests_;
  std::list<Entry> sessions_;
  bool is_full_ = false;
  std::int64_t num_refused_ = 0;
};

Server::Server(Listener listener, ServerOptions options)
    : address_(listener.address),
      loop_(std::make_unique<Loop>(std::move(listener), std::move(options))),
      thread_([this] { loop_->run(); }) {}

Server::~Server() {
  loop_->stop();
  thread_.join();
}

}  // namespace sheaf::comm::store

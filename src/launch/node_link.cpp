#include "launch/node_link.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <sstream>
#include <utility>

#include "sheaf/base/error.h"

namespace sheaf::launch {
namespace {

using namespace std::chrono_literals;

constexpr auto kLookEvery = 250ms;
constexpr auto kConnectAttempt = 1s;
constexpr auto kConnectLimit = 30s;
constexpr auto kJoinLimit = 300s;
constexpr auto kStopLimit = 2s;
constexpr const char* kFailureKey = "sheaf/launch/failure";

std::string key_of(const char* what, int node) {
  return std::string("sheaf/launch/") + what + "/" + std::to_string(node);
}

std::string encode(const Failure& failure) {
  return std::to_string(failure.code) + " " + failure.sentence;
}

Failure decode(const std::string& text) {
  Failure failure;
  std::istringstream fields(text);
  fields >> failure.code >> std::ws;
  std::getline(fields, failure.sentence);
  return failure;
}

}  // namespace

struct NodeLink::State {
  explicit State(NodeLinkOptions wanted) : options(std::move(wanted)) {}

  // Used by the thread only.
  NodeLinkOptions options;

  std::mutex mutex;
  std::condition_variable changed;
  bool stop = false;
  bool finished = false;
  std::optional<Failure> own_failure;
  bool own_end = false;
  bool has_mail = false;  // something of the above is new
  News news;
  FileDescriptor wake_up;

  // Waits for something to do; returns whether to go on.
  bool pause() {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, kLookEvery, [&] { return stop || has_mail; });
    has_mail = false;
    return !stop;
  }

  void publish(const News& latest) {
    const std::lock_guard lock(mutex);
    if (latest.settled == news.settled && latest.failure.has_value() == news.failure.has_value()) {
      return;
    }
    news = latest;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_up.get(), &one, sizeof(one));
  }

  // A node that failed before it joined has nobody to tell.
  bool gives_up() {
    const std::lock_guard lock(mutex);
    return own_end && own_failure.has_value();
  }

  // Returns the store, once node 0 has it up; nothing when it is not needed any more. c10d logs
  // every failing attempt with a stack trace, so it only gets to try where somebody listens.
  std::optional<StoreHost> join() {
    if (options.store.has_value()) return options.store;
    const auto limit = std::chrono::steady_clock::now() + kJoinLimit;
    while (!is_listening(options.endpoint, kConnectAttempt)) {
      if (std::chrono::steady_clock::now() > limit) throw CommError("it never came up");
      if (!pause() || gives_up()) {
        publish({std::nullopt, true});
        return std::nullopt;
      }
    }
    auto store = StoreHost::connect(options.endpoint, kConnectLimit);
    const auto holder = store.set_once(key_of("joined", options.node_rank), options.name);
    if (holder != options.name) {
      throw UsageError("another launcher has joined as node " + std::to_string(options.node_rank) +
                       " already: " + holder);
    }
    return store;
  }

  bool others_ended(StoreHost& store) const {
    for (int node = 1; node < options.nodes; ++node) {
      if (!store.find(key_of("ended", node)).has_value()) return false;
    }
    return true;
  }

  // Delivers what this node has to say and fetches what the others said; returns whether that was
  // all. A node's end comes last: node 0 may close the store as soon as it has seen it.
  bool exchange(StoreHost& store) {
    std::unique_lock lock(mutex);
    const auto failure = own_failure;
    const bool end = own_end;
    lock.unlock();
    News latest;
    if (failure.has_value()) store.set_once(kFailureKey, encode(*failure));
    if (const auto text = store.find(kFailureKey)) latest.failure = decode(*text);
    if (end && options.node_rank == 0) {
      latest.settled = others_ended(store);
    } else if (end) {
      store.set_once(key_of("ended", options.node_rank), "yes");
      latest.settled = true;
    }
    publish(latest);
    return latest.settled;
  }
};

NodeLink::NodeLink(NodeLinkOptions options) : state_(std::make_shared<State>(std::move(options))) {
  state_->wake_up = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!state_->wake_up.is_open()) throw IoError(std::string("eventfd: ") + std::strerror(errno));
  thread_ = std::thread([state = state_] { run(state); });
}

NodeLink::~NodeLink() {
  std::unique_lock lock(state_->mutex);
  state_->stop = true;
  state_->changed.notify_all();
  // A machine that vanished can hold a call for minutes; the thread is then left behind, and with
  // it the state that both share.
  const bool finished =
      state_->changed.wait_for(lock, kStopLimit, [&] { return state_->finished; });
  lock.unlock();
  finished ? thread_.join() : thread_.detach();
}

void NodeLink::run(const std::shared_ptr<State>& state) {
  try {
    if (auto store = state->join()) {
      while (!state->exchange(*store) && state->pause()) continue;
    }
  } catch (const CommError& error) {
    const auto where = "no launcher of node 0 at " + to_string(state->options.endpoint) + ": ";
    state->publish({Failure{error.exit_code(), where + error.what()}, true});
  } catch (const Error& error) {
    state->publish({Failure{error.exit_code(), error.what()}, true});
  }
  const std::lock_guard lock(state->mutex);
  state->finished = true;
  state->changed.notify_all();
}

int NodeLink::fd() const { return state_->wake_up.get(); }

NodeLink::News NodeLink::take_news() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto size = ::read(fd(), &count, sizeof(count));
  const std::lock_guard lock(state_->mutex);
  return state_->news;
}

void NodeLink::report_failure(Failure failure) {
  const std::lock_guard lock(state_->mutex);
  if (!state_->own_failure.has_value()) state_->own_failure = std::move(failure);
  state_->has_mail = true;
  state_->changed.notify_all();
}

void NodeLink::report_end() {
  const std::lock_guard lock(state_->mutex);
  state_->own_end = true;
  state_->has_mail = true;
  state_->changed.notify_all();
}

}  // namespace sheaf::launch

#include "launch/node_link.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "launch/file_descriptor.h"
#include "sheaf/base/error.h"
#include "sheaf/base/units.h"

namespace sheaf::launch {
namespace {

using namespace std::chrono_literals;

constexpr auto kLookEvery = 250ms;
constexpr auto kConnectAttempt = 1s;
constexpr auto kConnectLimit = 30s;
constexpr auto kJoinLimit = 300s;
constexpr auto kStopLimit = 2s;

std::string key_of(const std::string& key) { return "sheaf/launch/" + key; }
std::string state_key(int node) { return key_of("node/" + std::to_string(node)); }

struct Letter {
  std::string key;
  std::string value;
  bool once = false;
};

// Tells launchers that live from those that have gone, by counting looks at which nothing had
// changed: where this process itself was stopped for a while, nobody is blamed for it.
class Pulse {
 public:
  explicit Pulse(Seconds timeout)
      : patience_(static_cast<int>(timeout / Seconds(kLookEvery)) + 1) {}

  // Returns whether that launcher lives.
  bool feel(const NodeState& state) {
    if (state.beat != beat_ || state.launcher != launcher_) {
      beat_ = state.beat;
      launcher_ = state.launcher;
      looks_ = 0;
    } else {
      ++looks_;
    }
    return looks_ < patience_;
  }

 private:
  int patience_;
  int looks_ = 0;
  std::int64_t beat_ = -1;
  std::string launcher_;
};

bool same_nodes(const std::map<int, NodeState>& a, const std::map<int, NodeState>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const auto& one, const auto& other) {
           return one.first == other.first && one.second.launcher == other.second.launcher &&
                  one.second.ranks == other.second.ranks;
         });
}

}  // namespace

struct NodeLink::State {
  explicit State(NodeLinkOptions wanted) : options(std::move(wanted)), ranks(options.ranks) {}

  // Used by the thread only.
  NodeLinkOptions options;
  std::map<int, Pulse> pulses;
  std::int64_t beat = 0;
  bool has_joined = false;

  std::mutex mutex;
  std::condition_variable changed;
  bool stop = false;
  bool finished = false;
  bool given_up = false;
  int ranks;
  std::deque<Letter> outbox;
  std::vector<std::string> watched;
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

  void publish(News latest) {
    const std::lock_guard lock(mutex);
    latest.delivered = outbox.empty();
    if (latest.values == news.values && same_nodes(latest.nodes, news.nodes) &&
        latest.delivered == news.delivered && latest.lost.has_value() == news.lost.has_value()) {
      return;
    }
    news = std::move(latest);
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_up.get(), &one, sizeof(one));
  }

  bool gives_up() {
    const std::lock_guard lock(mutex);
    return given_up;
  }

  // Returns the store, once node 0 has it up; nothing when it is not needed any more. c10d logs
  // every failing attempt with a stack trace, so it only gets to try where somebody listens.
  std::optional<StoreHost> join() {
    if (options.store.has_value()) return options.store;
    const auto limit = std::chrono::steady_clock::now() + kJoinLimit;
    while (!is_listening(options.endpoint, kConnectAttempt)) {
      if (std::chrono::steady_clock::now() > limit) throw CommError("it never came up");
      if (!pause() || gives_up()) return std::nullopt;
    }
    auto store = StoreHost::connect(options.endpoint, kConnectLimit);
    if (!claim(store)) return std::nullopt;
    has_joined = true;
    return store;
  }

  // Takes this node's number. Another launcher that has it must have gone; one that shows a sign
  // of life keeps it.
  bool claim(StoreHost& store) {
    const std::string key = key_of("claim/" + std::to_string(options.node_rank));
    std::string holder = store.set_once(key, options.name);
    Pulse pulse(options.node_timeout);
    bool was_seen = false;
    while (holder != options.name) {
      const auto text = store.find(state_key(options.node_rank));
      const NodeState seen = text ? decode_state(*text) : NodeState{};
      if (was_seen && seen.beat != beat) {
        throw UsageError("another launcher has joined as node " +
                         std::to_string(options.node_rank) + " already: " + holder);
      }
      was_seen = true;
      beat = seen.beat;
      if (!pulse.feel(seen)) holder = store.replace(key, holder, options.name);
      if (holder != options.name && (!pause() || gives_up())) return false;
    }
    return true;
  }

  void deliver(StoreHost& store) {
    std::unique_lock lock(mutex);
    while (!outbox.empty()) {
      const Letter letter = outbox.front();
      lock.unlock();
      if (letter.once) {
        store.set_once(key_of(letter.key), letter.value);
      } else {
        store.set(key_of(letter.key), letter.value);
      }
      lock.lock();
      outbox.pop_front();
    }
  }

  // Says that this launcher lives, delivers what it has to say and fetches what the others said.
  void exchange(StoreHost& store) {
    std::unique_lock lock(mutex);
    const NodeState own{.launcher = options.name, .ranks = ranks, .beat = ++beat};
    const auto keys = watched;
    lock.unlock();
    store.set(state_key(options.node_rank), encode(own));
    deliver(store);
    News latest;
    for (const auto& key : keys) {
      if (auto value = store.find(key_of(key))) latest.values[key] = std::move(*value);
    }
    if (options.node_rank == 0) latest.nodes = look_around(store);
    publish(std::move(latest));
  }

  std::map<int, NodeState> look_around(StoreHost& store) {
    std::map<int, NodeState> living;
    for (int node = 1; node < options.nodes; ++node) {
      const auto text = store.find(state_key(node));
      if (!text) continue;
      NodeState state = decode_state(*text);
      const auto pulse = pulses.try_emplace(node, options.node_timeout).first;
      if (pulse->second.feel(state)) living[node] = std::move(state);
    }
    return living;
  }

  void tell(const std::function<void()>& what) {
    const std::lock_guard lock(mutex);
    what();
    news.delivered = false;
    has_mail = true;
    changed.notify_all();
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
  const auto lose = [&](const Error& error, std::string sentence) {
    News last;
    last.lost = Failure{.code = error.exit_code(), .sentence = std::move(sentence)};
    state->publish(std::move(last));
  };
  try {
    if (auto store = state->join()) {
      do {
        state->exchange(*store);
      } while (state->pause());
    }
  } catch (const CommError& error) {
    const auto why = state->has_joined
                         ? "it died, or its machine was not heard of for " +
                               sheaf::to_string(Seconds(state->options.endpoint.silence))
                         : std::string(error.what());
    const auto where = "no launcher of node 0 at " + to_string(state->options.endpoint) + ": ";
    lose(error, where + why);
  } catch (const Error& error) {
    lose(error, error.what());
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

void NodeLink::post(const std::string& key, const std::string& value) {
  state_->tell([&] { state_->outbox.push_back({.key = key, .value = value}); });
}

void NodeLink::post_once(const std::string& key, const std::string& value) {
  state_->tell([&] { state_->outbox.push_back({.key = key, .value = value, .once = true}); });
}

void NodeLink::watch(std::vector<std::string> keys) {
  state_->tell([&] { state_->watched = std::move(keys); });
}

void NodeLink::announce(int ranks) {
  state_->tell([&] { state_->ranks = ranks; });
}

void NodeLink::give_up() {
  state_->tell([&] { state_->given_up = true; });
}

}  // namespace sheaf::launch

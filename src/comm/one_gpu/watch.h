#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../backend.h"
#include "../peers.h"
#include "sheaf/base/units.h"
#include "words.h"

namespace sheaf::comm::one_gpu {

/// Looks now and then whether what this rank's streams wait for can still come. If a peer has
/// ended, has left or does not come in time, it lets the streams go on, so that nobody blocks in
/// them for ever; what they bring is worthless then, and every later call says why.
class Watch {
 public:
  Watch(std::shared_ptr<Words> words,
        Members members,
        std::shared_ptr<const Peers> peers,
        Seconds timeout);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Says that a stream was told to write `count` into this rank's word for `to`; `kind` is what it
  /// belongs to.
  void expect(Topic topic, int to, std::uint32_t count, Kind kind);
  /// Throws CommError if the group has ended, here or at a peer: what a peer that gave up has sent
  /// since then is worthless.
  void check() const;
  /// Sleeps until all members are done with all collectives so far, or the group has ended: then it
  /// has failed, too.
  void wait_until_idle();
  /// Sleeps until `peer` has emptied `count` cells of messages from this rank, or will not any
  /// more.
  void wait_for_reader(int peer, std::uint32_t count);
  /// Tells the peers that this rank will not take part any more. Never throws.
  void leave() noexcept;

 private:
  [[nodiscard]] int size() const { return members_.size(); }
  [[nodiscard]] std::size_t index(Topic topic, int peer) const;
  [[nodiscard]] bool is_outstanding(Topic topic, int peer) const;
  [[nodiscard]] std::vector<int> needed_peers() const;
  [[nodiscard]] std::uint64_t progress() const;
  [[nodiscard]] std::string describe(int member) const;
  [[nodiscard]] std::string describe_missing() const;
  [[nodiscard]] bool all_finished() const;
  void look();
  void fail(const std::string& why);
  void release_streams();
  void run();

  std::shared_ptr<Words> words_;
  Members members_;
  /// World ranks of all members but this one.
  std::vector<int> others_;
  std::shared_ptr<const Peers> peers_;
  Seconds timeout_;
  /// Counts that this rank's streams will have written, by topic and peer.
  std::vector<std::atomic<std::uint32_t>> expected_;
  std::atomic<Kind> kind_ = Kind::barrier;
  std::uint64_t last_progress_ = 0;
  std::chrono::steady_clock::time_point moved_;
  std::atomic<bool> failed_ = false;
  /// Guards `why_` and `stopping_`.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string why_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace sheaf::comm::one_gpu

#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "base/file_descriptor.h"
#include "fields.h"
#include "greeting.h"
#include "sockets.h"

namespace sheaf::comm::store {

class Server;

struct ClientOptions {
  Address address;
  Secret secret{};
  /// Who this is, for others who ask who is lost; empty: nobody to miss.
  std::string name{};
  /// How long to try to connect, and how long a call may wait.
  std::chrono::milliseconds timeout{300'000};
  /// A store whose machine has not answered for that long is gone.
  std::chrono::milliseconds silence{15'000};
  /// Where this process itself serves the store: stays up as long as a client of it.
  std::shared_ptr<Server> server{};
};

/// A store that another thread, process or machine serves (see Server). Calls block; they throw
/// c10::DistStoreError after the time-out, and CommError when the store is gone.
class Client final : public c10d::Store {
 public:
  /// Throws CommError where nobody answers in time, UsageError where this is refused.
  explicit Client(ClientOptions options);
  ~Client() override;

  /// Returns another connection to the same store, which nobody misses.
  c10::intrusive_ptr<c10d::Store> clone() override;
  using c10d::Store::set;
  void set(const std::string& key, const std::vector<std::uint8_t>& value) override;
  using c10d::Store::compareSet;
  std::vector<std::uint8_t> compareSet(const std::string& key,
                                       const std::vector<std::uint8_t>& expected,
                                       const std::vector<std::uint8_t>& desired) override;
  std::vector<std::uint8_t> get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t value) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  std::int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override;

  /// Returns the names of those who joined and went without a word.
  [[nodiscard]] std::vector<std::string> lost();
  [[nodiscard]] const Address& address() const { return options_.address; }
  /// Returns the address by which this machine reaches the store; empty where it is lost.
  [[nodiscard]] std::string own_host() const;

 private:
  using Clock = std::chrono::steady_clock;

  bool greet(Clock::time_point limit);
  [[nodiscard]] std::string ask(const FieldsWriter& question, std::chrono::milliseconds patience);
  [[nodiscard]] std::string ask(const FieldsWriter& question) { return ask(question, {}); }
  void send_all(const std::string& text, Clock::time_point limit);
  /// Adds what comes to input_; throws CommError when the store is gone or `limit` is over.
  void receive_more(Clock::time_point limit);
  [[nodiscard]] std::string receive(std::size_t size, Clock::time_point limit);

  ClientOptions options_;
  std::mutex mutex_;
  FileDescriptor socket_;
  std::string input_;
  std::optional<Seal> questions_;
  std::optional<Seal> answers_;
};

/// Returns lost() of the store behind any prefixes; nobody where it is not of this kind.
[[nodiscard]] std::vector<std::string> lost_joiners(const c10::intrusive_ptr<c10d::Store>& store);
/// Returns own_host() of that store; empty where it is not of this kind.
[[nodiscard]] std::string own_host(const c10::intrusive_ptr<c10d::Store>& store);

}  // namespace sheaf::comm::store

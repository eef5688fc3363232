#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "launch/endpoint.h"

namespace sheaf::launch {

/// The store at which the launchers and ranks of a job meet: hosted by this process, or another's.
/// Calls throw CommError when the store cannot be reached any more.
class StoreHost {
 public:
  enum class Reach { this_machine, network };

  /// Hosts the store for whoever knows the endpoint's secret; it ends with the last copy of this. A
  /// port of 0 takes a free one. Throws UsageError if the port is not to be had.
  static StoreHost serve(const Endpoint& endpoint, Reach reach);
  /// Connects to the store of another process, trying for that long. Throws UsageError where it is
  /// refused.
  static StoreHost connect(const Endpoint& endpoint, std::chrono::milliseconds timeout);

  [[nodiscard]] std::uint16_t port() const;
  /// Sets the key unless it is there, and returns what it then holds.
  std::string set_once(const std::string& key, const std::string& value);
  /// Puts `value` where the key holds `expected`, and returns what it then holds.
  std::string replace(const std::string& key,
                      const std::string& expected,
                      const std::string& value);
  void set(const std::string& key, const std::string& value);
  [[nodiscard]] std::optional<std::string> find(const std::string& key);

 private:
  struct Impl;
  explicit StoreHost(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

  std::shared_ptr<Impl> impl_;
};

}  // namespace sheaf::launch

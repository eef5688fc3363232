#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>
#include <string>

#include "sheaf/base/units.h"

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

/// The calls into LibTorch whose signatures move from release to release, in one place.
namespace sheaf::comm::compat {

struct TcpAddress {
  std::string host;
  std::uint16_t port = 0;
};

/// Connects to the store at `address`, or serves it there.
c10::intrusive_ptr<c10d::Store> tcp_store(const TcpAddress& address, bool serve, Seconds timeout);
/// Returns the port that a store from tcp_store() listens at.
std::uint16_t tcp_port(const c10d::Store& store);
c10::intrusive_ptr<c10d::Store> file_store(const std::string& path, int num_ranks, Seconds timeout);
/// Lives in this process alone.
c10::intrusive_ptr<c10d::Store> memory_store(Seconds timeout);
/// Adds `prefix` to every key.
c10::intrusive_ptr<c10d::Store> prefixed(const std::string& prefix,
                                         c10::intrusive_ptr<c10d::Store> store);

struct ProcessGroupOptions {
  c10::intrusive_ptr<c10d::Store> store;
  int rank = 0;
  int size = 1;
  Seconds timeout{1800};
};

/// `loopback`: all ranks are on this host.
c10::intrusive_ptr<c10d::Backend> gloo(const ProcessGroupOptions& options, bool loopback);
/// Throws UsageError where sheaf was built without CUDA.
c10::intrusive_ptr<c10d::Backend> nccl(const ProcessGroupOptions& options, at::Device device);

/// Returns LibTorch's version, such as "2.11.0".
std::string libtorch_version();

}  // namespace sheaf::comm::compat

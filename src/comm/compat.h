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

/// Connects to the store that torchrun serves at `address`.
c10::intrusive_ptr<c10d::Store> tcp_store(const TcpAddress& address, Seconds timeout);
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

/// `host`: the address of this machine at which the others reach it; empty: gloo's own choice.
c10::intrusive_ptr<c10d::Backend> gloo(const ProcessGroupOptions& options, const std::string& host);
/// Throws UsageError where sheaf was built without CUDA.
c10::intrusive_ptr<c10d::Backend> nccl(const ProcessGroupOptions& options, at::Device device);

/// Returns LibTorch's version, such as "2.11.0".
std::string libtorch_version();

}  // namespace sheaf::comm::compat

#include "compat.h"

#include <ATen/Context.h>
#include <c10/util/Logging.h>

#include <torch/headeronly/version.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <cfenv>
#include <cstdlib>

#include "gloo_door.h"
#include "no_sigpipe.h"
#include "sheaf/base/log.h"

namespace sheaf::comm::compat {
namespace {

std::chrono::milliseconds to_milliseconds(Seconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time);
}

/// LibTorch keeps a process-wide record of gloo calls that several groups on several threads
/// corrupt (it crashes in std::map sooner or later). Its only switch is a variable, read at the
/// first call.
bool switch_off_flight_recorder() {
  return setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/0) == 0;
}

/// Silences LibTorch's own log while it lives: it prints pages of stack for what sheaf says in a
/// sentence. With debug logging on it may speak.
class QuietLibTorch {
 public:
  QuietLibTorch() : previous_(FLAGS_caffe2_log_level) {
    if (log::level() > log::Level::debug) FLAGS_caffe2_log_level = c10::GLOG_FATAL;
  }
  ~QuietLibTorch() { FLAGS_caffe2_log_level = previous_; }
  QuietLibTorch(const QuietLibTorch&) = delete;
  QuietLibTorch& operator=(const QuietLibTorch&) = delete;

 private:
  int previous_;
};

/// Lets threads that are started meanwhile flush denormals. Gloo's add up gradients, and are there
/// before a program has said how it computes.
class FlushedDenormals {
 public:
  FlushedDenormals() {
    std::fegetenv(&before_);
    at::globalContext().setFlushDenormal(true);
  }
  ~FlushedDenormals() { std::fesetenv(&before_); }
  FlushedDenormals(const FlushedDenormals&) = delete;
  FlushedDenormals& operator=(const FlushedDenormals&) = delete;

 private:
  std::fenv_t before_{};
};

auto gloo_device(const std::string& host) {
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  if (interface != nullptr) return c10d::ProcessGroupGloo::createDeviceForInterface(interface);
  if (!host.empty()) return c10d::ProcessGroupGloo::createDeviceForHostname(host);
  return c10d::ProcessGroupGloo::createDefaultDevice();
}

}  // namespace

c10::intrusive_ptr<c10d::Store> tcp_store(const TcpAddress& address, Seconds timeout) {
  const QuietLibTorch quiet;
  c10d::TCPStoreOptions options;
  options.port = address.port;
  options.waitWorkers = false;
  options.timeout = to_milliseconds(timeout);
  return c10::make_intrusive<c10d::TCPStore>(address.host, options);
}

c10::intrusive_ptr<c10d::Store> file_store(const std::string& path,
                                           int num_ranks,
                                           Seconds timeout) {
  auto store = c10::make_intrusive<c10d::FileStore>(path, num_ranks);
  store->setTimeout(to_milliseconds(timeout));
  return store;
}

c10::intrusive_ptr<c10d::Store> memory_store(Seconds timeout) {
  auto store = c10::make_intrusive<c10d::HashStore>();
  store->setTimeout(to_milliseconds(timeout));
  return store;
}

c10::intrusive_ptr<c10d::Store> prefixed(const std::string& prefix,
                                         c10::intrusive_ptr<c10d::Store> store) {
  return c10::make_intrusive<c10d::PrefixStore>(prefix, std::move(store));
}

c10::intrusive_ptr<c10d::Backend> gloo(const ProcessGroupOptions& options,
                                       const std::string& host) {
  [[maybe_unused]] static const bool once = switch_off_flight_recorder();
  const NoSigpipe in_its_threads;
  const FlushedDenormals there_too;
  auto settings = c10d::ProcessGroupGloo::Options::create(to_milliseconds(options.timeout));
  GlooDoor door([&] { settings->devices.push_back(gloo_device(host)); });
  settings->threads = 2;
  auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(
      options.store, options.rank, options.size, settings);
  // All members are connected now, and nobody else is to come.
  door.lock();
  return group;
}

std::string libtorch_version() {
  return std::to_string(TORCH_VERSION_MAJOR) + "." + std::to_string(TORCH_VERSION_MINOR) + "." +
         std::to_string(TORCH_VERSION_PATCH);
}

}  // namespace sheaf::comm::compat

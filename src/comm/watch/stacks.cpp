#include "stacks.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace sheaf::comm {
namespace {

constexpr int kMaxFrames = 64;
// Frames of the handler itself and of the kernel's way into it.
constexpr int kOwnFrames = 2;

// A signal handler sees nothing but variables like these; one thread at a time is asked.
std::array<void*, kMaxFrames> frames;
std::atomic<int> num_frames{0};
std::atomic<bool> is_answered{false};
static_assert(std::atomic<int>::is_always_lock_free);

void answer(int) {
  const int saved = errno;
  num_frames = ::backtrace(frames.data(), kMaxFrames);
  is_answered = true;
  errno = saved;
}

/// Lets the signal be handled here while it lives.
class Handler {
 public:
  Handler() {
    // Loads what it needs; a handler may not.
    ::backtrace(frames.data(), 1);
    struct sigaction ours {};
    ours.sa_handler = answer;
    ours.sa_flags = SA_RESTART;
    sigemptyset(&ours.sa_mask);
    ::sigaction(number(), &ours, &previous_);
  }
  ~Handler() {
    // Takes back what threads that block it have not got yet: it would end the process later.
    ::signal(number(), SIG_IGN);
    ::sigaction(number(), &previous_, nullptr);
  }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

  /// A signal that nobody else is likely to use.
  [[nodiscard]] static int number() { return SIGRTMAX - 3; }

 private:
  struct sigaction previous_ {};
};

std::string demangled(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  return status == 0 && name ? name.get() : symbol;
}

/// Writes "sheaf::comm::Lane::work() (sheaf+0x1234)"; the address is what addr2line takes.
std::string describe(void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return fmt::format("{}", address);
  }
  const auto offset = static_cast<std::byte*>(address) - static_cast<std::byte*>(info.dli_fbase);
  const std::string file = std::filesystem::path(info.dli_fname).filename();
  const std::string function = info.dli_sname == nullptr ? "?" : demangled(info.dli_sname);
  return fmt::format("{} ({}+{:#x})", function, file, offset);
}

std::vector<pid_t> threads() {
  std::vector<pid_t> ids;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    ids.push_back(std::atoi(entry.path().filename().c_str()));
  }
  std::ranges::sort(ids);
  return ids;
}

std::string name_of(pid_t thread) {
  std::ifstream file(fmt::format("/proc/self/task/{}/comm", thread));
  std::string name;
  std::getline(file, name);
  return name;
}

bool ask(pid_t thread) {
  using std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPatience{200};
  is_answered = false;
  if (::syscall(SYS_tgkill, ::getpid(), thread, Handler::number()) != 0) return false;
  const auto deadline = steady_clock::now() + kPatience;
  while (!is_answered && steady_clock::now() < deadline) std::this_thread::yield();
  return is_answered;
}

}  // namespace

std::string stacks_of_all_threads() {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const Handler handler;
  std::string text;
  for (const pid_t thread : threads()) {
    text += fmt::format("thread {} ({})\n", thread, name_of(thread));
    if (!ask(thread)) {
      text += "  does not answer\n";
      continue;
    }
    for (int i = std::min(kOwnFrames, num_frames.load()); i < num_frames; ++i) {
      text += fmt::format("  {}\n", describe(frames[static_cast<std::size_t>(i)]));
    }
  }
  return text;
}

}  // namespace sheaf::comm

#include "drill/watched_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "sheaf/base/error.h"

namespace sheaf::drill {
namespace {

namespace fs = std::filesystem;
using launch::FileDescriptor;
using nlohmann::json;

constexpr int kPatienceMs = 120'000;

std::string read_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

pid_t parent_of(pid_t pid) {
  const std::string status = read_file("/proc/" + std::to_string(pid) + "/stat");
  // The name in brackets may hold anything.
  std::istringstream fields(status.substr(std::min(status.rfind(')') + 1, status.size())));
  std::string state;
  pid_t parent = -1;
  fields >> state >> parent;
  return parent;
}

std::optional<int> rank_of(pid_t pid) {
  const std::string environment = read_file("/proc/" + std::to_string(pid) + "/environ");
  std::istringstream entries(environment);
  for (std::string entry; std::getline(entries, entry, '\0');) {
    if (entry.starts_with("RANK=")) return std::stoi(entry.substr(5));
  }
  return std::nullopt;
}

}  // namespace

std::map<int, pid_t> ranks_of(pid_t launcher) {
  std::map<int, pid_t> ranks;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc()) continue;
    if (parent_of(pid) != launcher) continue;
    if (const auto rank = rank_of(pid)) ranks[*rank] = pid;
  }
  return ranks;
}

WatchedRun::WatchedRun(std::vector<std::string> command, std::string folder)
    : command_(std::move(command)),
      folder_(std::move(folder)),
      changes_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  for (const char* name : {"/log", "/saved"}) fs::create_directories(folder_ + name);
  ::inotify_add_watch(changes_.get(), (folder_ + "/log").c_str(), IN_MODIFY | IN_CREATE);
  saved_watch_ = ::inotify_add_watch(changes_.get(), (folder_ + "/saved").c_str(), IN_CREATE);
  if (saved_watch_ < 0) throw IoError("cannot watch " + folder_);
}

WatchedRun::~WatchedRun() {
  if (!exit_.is_open()) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void WatchedRun::start() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw IoError("cannot make a pipe");
  stderr_ = FileDescriptor(ends[0]);
  const FileDescriptor writer(ends[1]);
  ::fcntl(stderr_.get(), F_SETFL, O_NONBLOCK);
  const FileDescriptor out(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  std::vector<char*> arguments;
  for (auto& word : command_) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(out.get(), STDOUT_FILENO);
    ::dup2(writer.get(), STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  exit_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (pid_ < 0 || !exit_.is_open()) throw IoError("cannot start " + command_[0]);
}

Event WatchedRun::next() {
  while (events_.empty()) {
    std::array<pollfd, 3> entries{pollfd{.fd = stderr_.get(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = changes_.get(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = exit_.get(), .events = POLLIN, .revents = 0}};
    if (::poll(entries.data(), entries.size(), kPatienceMs) == 0) {
      throw Error("the run did nothing for two minutes; it had said:\n" + all_lines_);
    }
    if (entries[0].revents != 0) read_stderr();
    if (entries[1].revents != 0) read_changes();
    if (entries[2].revents != 0) note_exit();
  }
  Event event = std::move(events_.front());
  events_.pop_front();
  return event;
}

void WatchedRun::read_stderr() {
  std::array<char, 4096> buffer;
  ssize_t size = 0;
  while ((size = ::read(stderr_.get(), buffer.data(), buffer.size())) > 0) {
    all_lines_.append(buffer.data(), static_cast<std::size_t>(size));
    open_line_.append(buffer.data(), static_cast<std::size_t>(size));
  }
  if (size == 0) stderr_.close();
  for (auto end = open_line_.find('\n'); end != std::string::npos; end = open_line_.find('\n')) {
    events_.push_back({.kind = Event::Kind::line, .text = open_line_.substr(0, end)});
    open_line_.erase(0, end + 1);
  }
}

void WatchedRun::read_metrics() {
  std::ifstream file(folder_ + "/log/metrics.jsonl", std::ios::binary);
  file.seekg(static_cast<std::streamoff>(metrics_read_));
  for (std::string text; std::getline(file, text) && !file.eof();) {
    metrics_read_ += text.size() + 1;
    const json line = json::parse(text);
    if (line["event"] == "start") {
      events_.push_back({.kind = Event::Kind::start, .step = line["first_step"]});
    } else if (line["event"] == "step") {
      events_.push_back({.kind = Event::Kind::step, .step = line["step"]});
    }
  }
}

void WatchedRun::read_changes() {
  alignas(inotify_event) std::array<char, 4096> buffer;
  ssize_t size = 0;
  while ((size = ::read(changes_.get(), buffer.data(), buffer.size())) > 0) {
    for (const char* at = buffer.data(); at < buffer.data() + size;) {
      const auto* change = reinterpret_cast<const inotify_event*>(at);
      at += sizeof(inotify_event) + change->len;
      const std::string name = change->len > 0 ? change->name : "";
      if (change->wd == saved_watch_ && name.ends_with(".unfinished")) {
        events_.push_back({.kind = Event::Kind::save, .text = name});
        // Its files, too; it may be gone again.
        ::inotify_add_watch(
            changes_.get(), (folder_ + "/saved/" + name).c_str(), IN_CREATE | IN_MODIFY);
      } else if (name.ends_with(".safetensors") || name == "manifest.json") {
        events_.push_back({.kind = Event::Kind::save, .text = name});
      }
    }
  }
  read_metrics();
}

void WatchedRun::note_exit() {
  read_stderr();
  read_metrics();
  int status = 0;
  ::waitpid(pid_, &status, 0);
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  exit_.close();
  events_.push_back({.kind = Event::Kind::end});
}

}  // namespace sheaf::drill

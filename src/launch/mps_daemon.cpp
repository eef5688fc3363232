#include "launch/mps_daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "sheaf/base/error.h"
#include "sheaf/base/log.h"

namespace sheaf::launch {
namespace {

namespace fs = std::filesystem;

// A socket's path has at most 107 characters, and the daemon's own names take up to 20 of them.
constexpr std::size_t kLongestPipeFolder = 85;

// See Note [Guardian]. Arguments: the control program, and what to remove at the end. Reports one
// line: "started", or why not. The daemon gets all GPUs: were some left out here, the others would
// have new numbers for the ranks.
constexpr const char* kGuardian = R"(
trap : PIPE
control=$1
log=$CUDA_MPS_LOG_DIRECTORY/start.log
unset CUDA_VISIBLE_DEVICES
answers() {
  tries=50
  until echo get_server_list | "$control"; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || return 1
    sleep 0.1
  done
}
if { "$control" -d </dev/null && answers; } >"$log" 2>&1; then
  echo started
  exec >/dev/null
  while read -r line; do :; done
else
  code=$?
  read -r reason <"$log"
  echo "${reason:-its exit code is $code}"
fi
echo quit | "$control" >>"$log" 2>&1
rm -rf "$2"
)";

struct Pipe {
  FileDescriptor reader;
  FileDescriptor writer;
};

[[noreturn]] void fail(const std::string& what) {
  throw IoError(what + ": " + std::strerror(errno));
}

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("cannot make a pipe for MPS");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::string make_unique_folder(const fs::path& parent, const std::string& prefix) {
  std::error_code error;
  fs::create_directories(parent, error);
  std::string name = (parent / (prefix + "XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) fail("cannot make a folder for MPS in " + parent.string());
  return name;
}

std::string make_temporary_folder() {
  return make_unique_folder(fs::temp_directory_path(), "sheaf_mps_");
}

// Returns the new folder, and whether it is in the run's own.
std::pair<std::string, bool> make_folder(const std::string& run_dir) try {
  if (run_dir.empty()) return {make_temporary_folder(), false};
  const fs::path parent = fs::absolute(run_dir);
  const std::size_t length = (parent / "mps_XXXXXX" / "pipe").string().size();
  if (length <= kLongestPipeFolder) return {make_unique_folder(parent, "mps_"), true};
  std::string folder = make_temporary_folder();
  log::info("launch",
            "the path of the run's folder is too long for the sockets of MPS, which are in " +
                folder + " instead");
  return {std::move(folder), false};
} catch (const fs::filesystem_error& error) {
  throw IoError(std::string("no folder for MPS: ") + error.what());
}

bool is_readable_in(const FileDescriptor& file, Seconds time) {
  pollfd entry{.fd = file.get(), .events = POLLIN, .revents = 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(time);
  return ::poll(&entry, 1, static_cast<int>(left.count())) > 0;
}

std::string read_line(const FileDescriptor& reader) {
  std::array<char, 512> text{};
  const ssize_t size = ::read(reader.get(), text.data(), text.size());
  const std::string_view all(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return std::string(all.substr(0, all.find('\n')));
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Starts `command` with these as input and output, no error output and all signals as usual.
int spawn(const std::vector<std::string>& command,
          const std::vector<std::string>& environment,
          const FileDescriptor& in,
          const FileDescriptor& out) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  int pid = -1;
  const int error = ::posix_spawn(&pid,
                                  command.front().c_str(),
                                  &actions,
                                  &attributes,
                                  pointers_to(command).data(),
                                  pointers_to(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  errno = error;
  if (error != 0) fail("cannot start " + command.front());
  return pid;
}

}  // namespace

MpsDaemon::MpsDaemon(const MpsDaemonOptions& options) : patience_(options.patience) {
  const auto [folder, in_run] = make_folder(options.run_dir);
  folder_ = folder;
  variables_ = {{"CUDA_MPS_PIPE_DIRECTORY", folder_ + "/pipe"},
                {"CUDA_MPS_LOG_DIRECTORY", folder_ + "/log"}};
  for (const auto& [name, path] : variables_) {
    if (::mkdir(path.c_str(), S_IRWXU) != 0) fail("cannot make " + path);
  }
  // The log stays with the run.
  const std::string& removed = in_run ? variables_.front().second : folder_;
  Pipe life = make_pipe();
  Pipe report = make_pipe();
  guardian_ = spawn({"/bin/sh", "-c", kGuardian, "sheaf-mps", options.program, removed},
                    with_variables(current_environment(), variables_),
                    life.reader,
                    report.writer);
  life_ = std::move(life.writer);
  report.writer.close();
  const bool answers = is_readable_in(report.reader, patience_);
  const std::string answer = answers ? read_line(report.reader) : "it does not answer";
  if (answer == "started") return;
  if (answers || ended_in(patience_)) {
    ::waitpid(guardian_, nullptr, 0);
  } else {
    ::kill(-guardian_, SIGKILL);
    ::waitpid(guardian_, nullptr, 0);
  }
  std::error_code ignored;
  fs::remove_all(removed, ignored);
  throw IoError(options.program + " did not start: " + answer);
}

/// Tells the guardian to end, and whether it did in time.
bool MpsDaemon::ended_in(Seconds time) {
  const FileDescriptor end(static_cast<int>(::syscall(SYS_pidfd_open, guardian_, 0)));
  life_.close();
  return end.is_open() && is_readable_in(end, time);
}

MpsDaemon::~MpsDaemon() {
  if (ended_in(patience_)) {
    ::waitpid(guardian_, nullptr, 0);
    return;
  }
  log::warning("launch", "MPS in " + folder_ + " goes on until nobody uses it any more");
}

}  // namespace sheaf::launch

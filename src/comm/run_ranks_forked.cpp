#include <ATen/Parallel.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "compat.h"
#include "environment.h"
#include "sheaf/base/error.h"
#include "sheaf/base/log.h"
#include "sheaf/comm/run_ranks.h"
#include "world.h"

namespace sheaf::comm {
namespace {

struct Child {
  pid_t pid = 0;
  /// What the child writes its error to.
  int errors = -1;
};

/// Lives in the child; returns its exit code.
int run_child(const Place& place,
              const std::string& path,
              const std::function<void(Group)>& body,
              const RunRanksOptions& options,
              std::string& error_text) {
  log::set_process_rank(place.rank);
  // Pools of threads do not survive a fork; with one thread nobody looks for them.
  at::set_num_threads(1);
  try {
    auto store = compat::file_store(path, place.size, options.timeout);
    body(form_world(place,
                    std::move(store),
                    {.backend = options.backend,
                     .device = options.device,
                     .timeout = options.timeout,
                     .watch = options.watch,
                     .interference = options.interference}));
    return 0;
  } catch (const Error& error) {
    error_text = error.what();
    return error.exit_code();
  } catch (const std::exception& error) {
    error_text = error.what();
    return 1;
  }
}

Child start(const Place& place,
            const std::string& path,
            const std::function<void(Group)>& body,
            const RunRanksOptions& options) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw IoError("no pipe for a forked rank");
  const pid_t pid = fork();
  if (pid < 0) throw IoError("no process for a forked rank");
  if (pid == 0) {
    std::string error;
    const int code = run_child(place, path, body, options, error);
    std::fflush(nullptr);
    [[maybe_unused]] const auto written = write(ends[1], error.data(), error.size());
    _exit(code);
  }
  close(ends[1]);
  return {pid, ends[0]};
}

RankOutcome finish(const Child& child) {
  RankOutcome outcome;
  std::array<char, 4096> buffer{};
  ssize_t size = 0;
  while ((size = read(child.errors, buffer.data(), buffer.size())) > 0) {
    outcome.error.append(buffer.data(), static_cast<std::size_t>(size));
  }
  close(child.errors);
  int status = 0;
  waitpid(child.pid, &status, 0);
  outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

}  // namespace

std::vector<RankOutcome> run_ranks_forked(int num_ranks,
                                          const std::function<void(Group)>& body,
                                          const RunRanksOptions& options) {
  if (num_ranks < 1)
    throw UsageError(fmt::format("run_ranks_forked needs at least 1 rank, got {}", num_ranks));
  std::string folder = (std::filesystem::temp_directory_path() / "sheaf-ranks-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr)
    throw IoError("no temporary folder for forked ranks: " + folder);
  std::fflush(nullptr);
  std::vector<Child> children;
  for (int rank = 0; rank < num_ranks; ++rank) {
    const Place place{.rank = rank, .size = num_ranks, .local_rank = rank, .local_size = num_ranks};
    children.push_back(start(place, folder + "/store", body, options));
  }
  std::vector<RankOutcome> outcomes;
  for (const Child& child : children) outcomes.push_back(finish(child));
  std::filesystem::remove_all(folder);
  return outcomes;
}

}  // namespace sheaf::comm

// How fast checkpoints are saved and loaded, beside the disk's own speed and beside PyTorch's
// distributed checkpoint, and for how long an asynchronous save keeps training waiting.
#include <ATen/ATen.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "checkpoint/disk.h"
#include "checkpoint/part_writer.h"
#include "median.h"
#include "run_program.h"
#include "sheaf/base/error.h"
#include "sheaf/checkpoint/folder.h"
#include "sheaf/checkpoint/reader.h"
#include "sheaf/checkpoint/saver.h"
#include "sheaf/comm/run_ranks.h"
#include "temporary_folder.h"

namespace sheaf::bench {
namespace {

namespace fs = std::filesystem;
using checkpoint::Contents;
using checkpoint::Part;

struct Options {
  std::string folder;
  std::string python = ".deps/venv/bin/python3";
  std::string peer = "bench/checkpoint/dcp_peer.py";
  std::int64_t mebibytes = 1536;
  std::int64_t tensors = 300;
  int repetitions = 5;
};

/// What was measured of one way to save and load.
struct Times {
  std::vector<double> save;
  std::vector<double> load;
  /// What training waits for an asynchronous save.
  std::vector<double> stall;
  /// By how much the passes beside it take longer, since they share cores and memory with it.
  std::vector<double> slowing;
  std::int64_t save_growth = 0;
  std::int64_t load_growth = 0;
};

std::int64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::stoll(line.substr(key.size() + 1)) * 1024;
  }
  throw IoError("/proc/self/status has no " + key);
}

template <class Run>
double seconds(const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Adds the time of a run, and how much the process grew at most.
template <class Run>
void measure(std::vector<double>& times, std::int64_t& growth, const Run& run) {
  std::ofstream("/proc/self/clear_refs") << 5;
  const std::int64_t before = status_bytes("VmRSS");
  times.push_back(seconds(run));
  growth = std::max(growth, status_bytes("VmHWM") - before);
}

void drop_from_cache(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
}

/// Bytes that no disk can make smaller.
std::vector<std::byte> random_bytes(std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::mt19937_64 random(7);
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    const std::uint64_t value = random();
    std::memcpy(bytes.data() + i, &value, sizeof(value));
  }
  return bytes;
}

/// Writes and reads one file as plainly as can be, from and to as much memory as a state has.
void measure_disk(const std::string& path, std::vector<std::byte>& bytes, Times& times) {
  constexpr std::size_t kBlock = 4 << 20;
  checkpoint::Disk disk;
  disk.remove(path);
  times.save.push_back(seconds([&] {
    const checkpoint::File file = disk.create(path, bytes.size());
    for (std::size_t at = 0; at < bytes.size(); at += kBlock) {
      disk.write(file, at, std::span(bytes).subspan(at, std::min(kBlock, bytes.size() - at)));
    }
    disk.sync(file);
  }));
  drop_from_cache(path);
  times.load.push_back(seconds([&] {
    const checkpoint::File file = disk.open(path);
    for (std::size_t at = 0; at < bytes.size(); at += kBlock) {
      disk.read(file, at, std::span(bytes).subspan(at, std::min(kBlock, bytes.size() - at)));
    }
  }));
  disk.remove(path);
}

/// A state of equal tensors that one rank has, two thirds of it not of the model.
struct State {
  explicit State(const Options& options) {
    const std::int64_t numel = (options.mebibytes << 20) / 4 / options.tensors;
    for (std::int64_t i = 0; i < options.tensors; ++i) {
      const std::string name = fmt::format("tensor{}", i);
      (i % 3 == 0 ? contents.weights : contents.state).push_back({name, at::kFloat, {numel}});
      parts.push_back({name, 0, at::randn({numel})});
    }
  }

  Contents contents{.step = 1};
  std::vector<Part> parts;
};

void measure_save(const std::string& folder, const comm::Group& group, State& state, Times& times) {
  checkpoint::Saver saver({.folder = folder, .group = group});
  measure(times.save, times.save_growth, [&] {
    saver.start(state.contents, state.parts);
    static_cast<void>(saver.wait());
  });
  const std::string path = checkpoint::path_of_step(folder, state.contents.step);
  for (const auto& file : fs::directory_iterator(path)) drop_from_cache(file.path());
  measure(times.load, times.load_growth, [&] { checkpoint::Reader(path).read(state.parts); });
  fs::remove_all(path);
}

/// Products that stand for the passes between a save and the next change of weights: as much work
/// as a model of this size has with 512 tokens, of which a third of the state are the weights.
class Passes {
 public:
  explicit Passes(const Options& options)
      : count_(6 * kTokens * (options.mebibytes << 20) / 4 / 3 / kWork + 1) {}

  void run() const {
    for (std::int64_t i = 0; i < count_; ++i) static_cast<void>(matrix_.mm(matrix_));
  }

 private:
  static constexpr std::int64_t kTokens = 512;
  static constexpr std::int64_t kWidth = 1024;
  static constexpr std::int64_t kWork = 2 * kWidth * kWidth * kWidth;

  std::int64_t count_;
  at::Tensor matrix_ = at::randn({kWidth, kWidth});
};

void measure_stall(const std::string& folder,
                   const comm::Group& group,
                   const State& state,
                   const Options& options,
                   Times& times) {
  checkpoint::Saver saver({.folder = folder, .group = group, .asynchronous = true});
  const Passes passes(options);
  for (int i = 0; i < options.repetitions; ++i) {
    const double alone = seconds([&] { passes.run(); });
    const double starting = seconds([&] { saver.start(state.contents, state.parts); });
    const double beside = seconds([&] { passes.run(); });
    const double securing = seconds([&] { saver.secure(); });
    times.stall.push_back(starting + securing);
    times.slowing.push_back(std::max(0.0, beside - alone));
    static_cast<void>(saver.wait());
    fs::remove_all(checkpoint::path_of_step(folder, state.contents.step));
  }
}

Times run_peer(const Options& options, const std::string& folder) {
  const std::string command = fmt::format("{} {} {} {} {} {}",
                                          options.python,
                                          options.peer,
                                          folder,
                                          options.mebibytes,
                                          options.tensors,
                                          options.repetitions);
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw IoError("cannot start " + command);
  std::string output;
  char buffer[4096];
  while (const std::size_t size = std::fread(buffer, 1, sizeof(buffer), pipe)) {
    output.append(buffer, size);
  }
  if (::pclose(pipe) != 0) throw IoError("the other side failed: " + command);
  const auto json = nlohmann::json::parse(output);
  return {.save = json["save"],
          .load = json["load"],
          .stall = json["stall"],
          .slowing = {},
          .save_growth = json["save_growth"],
          .load_growth = json["load_growth"]};
}

void print(const std::string& name, const Times& times, const Options& options) {
  const auto size = static_cast<double>(options.mebibytes);
  const auto growth = [](std::int64_t bytes) { return fmt::format("{:.0f}", bytes / 1048576.0); };
  const auto thousandths = [](const std::vector<double>& values) {
    return values.empty() ? "-" : fmt::format("{:.3f}", median(values));
  };
  fmt::print("| {} | {:.2f} | {:.0f} | {:.2f} | {:.0f} | {} | {} | {} | {} |\n",
             name,
             median(times.save),
             size / median(times.save),
             median(times.load),
             size / median(times.load),
             thousandths(times.stall),
             thousandths(times.slowing),
             times.stall.empty() ? "-" : growth(times.save_growth),
             times.stall.empty() ? "-" : growth(times.load_growth));
}

void run(const Options& options) {
  const TemporaryFolder own;
  const std::string root = options.folder.empty() ? own / "all" : options.folder;
  const std::string folder = root + "/sheaf";
  fs::create_directories(folder);
  Times disk;
  Times ours;
  comm::run_ranks(1, [&](const comm::Group& group) {
    State state(options);
    std::vector<std::byte> bytes = random_bytes(static_cast<std::size_t>(options.mebibytes) << 20);
    // Side by side, because a disk is not the same from minute to minute.
    for (int i = 0; i <= options.repetitions; ++i) {
      measure_disk(root + "/disk", bytes, disk);
      measure_save(folder, group, state, ours);
    }
    measure_stall(folder, group, state, options, ours);
  });
  for (auto* times : {&disk.save, &disk.load, &ours.save, &ours.load}) times->erase(times->begin());
  const Times theirs = run_peer(options, root + "/dcp");
  fs::remove_all(root);
  fmt::print("{} MiB in {} tensors, one process, medians of {}\n\n",
             options.mebibytes,
             options.tensors,
             options.repetitions);
  fmt::print(
      "| | save s | MiB/s | load s | MiB/s | stall s | slows s | save grows MiB | load grows MiB "
      "|\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  print("the disk itself", disk, options);
  print("sheaf", ours, options);
  print("PyTorch DCP", theirs, options);
  fmt::print("\nof the disk's speed: save {:.0f} %, load {:.0f} %; stall {:.1f} % of a save\n",
             100 * median(disk.save) / median(ours.save),
             100 * median(disk.load) / median(ours.load),
             100 * median(ours.stall) / median(ours.save));
}

}  // namespace
}  // namespace sheaf::bench

int main(int argc, char** argv) {
  sheaf::bench::Options options;
  const auto declare = [&](sheaf::cli::OptionSet& set) {
    set.value("folder", options.folder, "where to write; empty: the temporary folder");
    set.value("python", options.python, "the interpreter that has torch");
    set.value("peer", options.peer, "the other side");
    set.value("mebibytes", options.mebibytes, "size of the state", sheaf::at_least(1));
    set.value("tensors", options.tensors, "number of tensors", sheaf::at_least(1));
    set.value("repetitions", options.repetitions, "runs of each side", sheaf::at_least(1));
  };
  return sheaf::bench::run_program(
      argc, argv, "save and load checkpoints beside PyTorch", declare, [&] {
        sheaf::bench::run(options);
        return 0;
      });
}

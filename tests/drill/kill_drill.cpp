#include "drill/kill_drill.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <random>

#include "drill/small_run.h"
#include "drill/watched_run.h"
#include "launch/file_descriptor.h"
#include "sheaf/base/error.h"
#include "sheaf/launch/launcher.h"
#include "support/run_command.h"

namespace sheaf::drill {
namespace {

using Clock = std::chrono::steady_clock;
using launch::FileDescriptor;

constexpr int kGoneLimitMs = 60'000;

std::vector<std::string> command_of(const DrillOptions& options, std::int64_t steps) {
  return small_run(options.program,
                   options.folder,
                   {"--ranks=" + std::to_string(options.ranks),
                    "--batch.global=12",
                    "--max-restarts=1000",
                    "--max-fruitless=0",
                    "--checkpoint.every=" + std::to_string(options.every),
                    fmt::format("--checkpoint.asynchronous={}", options.asynchronous),
                    "--train.steps=" + std::to_string(steps)});
}

bool is_restore(const Event& event) {
  return event.kind == Event::Kind::line && event.text.find("going on from") != std::string::npos;
}

/// What is to be killed, and when: at the n-th event of one kind after the last recovery; those of
/// stderr mean the line that says which checkpoint was read.
struct Plan {
  Event::Kind kind = Event::Kind::step;
  int countdown = 1;
  /// -1: the launcher.
  int rank = -1;
};

class Drill {
 public:
  explicit Drill(const DrillOptions& options)
      : options_(options),
        random_(options.seed),
        run_(command_of(options, 1'000'000'000), options.folder) {}

  DrillResult run() {
    run_.start();
    plan_ = draw_plan();
    for (int i = 0; i < options_.kills; ++i) result_.kills.push_back(kill_once());
    // Not at once: what was saved last shall be new.
    const std::int64_t enough = step_ + options_.every;
    wait_for(
        [&](const Event& event) { return event.kind == Event::Kind::step && event.step > enough; });
    ::kill(run_.launcher(), SIGTERM);
    wait_for([](const Event& event) { return event.kind == Event::Kind::end; });
    if (run_.exit_code() != launch::kRequeueCode) {
      throw Error(fmt::format("SIGTERM left exit code {}:\n{}", run_.exit_code(), tail()));
    }
    result_.final_step = step_;
    return result_;
  }

 private:
  int draw(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }

  Plan draw_plan() {
    Plan plan{.rank = draw(-1, options_.ranks - 1)};
    switch (draw(0, 3)) {
      case 0:
        plan.kind = Event::Kind::line;
        return plan;
      case 1:
        plan.kind = Event::Kind::save;
        plan.countdown = draw(1, 12);
        return plan;
      default:
        plan.countdown = draw(1, 3 * options_.every);
        return plan;
    }
  }

  template <class Condition>
  void wait_for(const Condition& condition) {
    while (true) {
      const Event event = run_.next();
      if (event.kind == Event::Kind::step) step_ = event.step;
      if (event.kind == Event::Kind::start) resumed_ = event.step;
      if (condition(event)) return;
      if (event.kind == Event::Kind::end) {
        throw Error(fmt::format("the run ended with {}:\n{}", run_.exit_code(), tail()));
      }
    }
  }

  Kill kill_once() {
    Plan plan = plan_;
    // The first start restores nothing.
    if (plan.kind == Event::Kind::line && !is_restored_) plan.kind = Event::Kind::step;
    if (plan.kind != Event::Kind::line) {
      wait_for(
          [&](const Event& event) { return event.kind == plan.kind && --plan.countdown == 0; });
    }
    const std::map<int, pid_t> ranks = ranks_of(run_.launcher());
    const auto victim = ranks.find(plan.rank);
    Kill kill{.victim = victim == ranks.end() ? "launcher" : fmt::format("rank {}", plan.rank),
              .moment = name_of(plan.kind)};
    plan_ = draw_plan();
    std::vector<FileDescriptor> others;
    for (const auto& [rank, pid] : ranks) {
      others.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    }
    const auto began = Clock::now();
    ::kill(victim == ranks.end() ? run_.launcher() : victim->second, SIGKILL);
    if (victim == ranks.end()) {
      restart_launcher(others, kill, began);
    } else {
      follow(others, kill, began);
    }
    return kill;
  }

  // The launcher names the rank, ends the others and starts all again.
  void follow(const std::vector<FileDescriptor>& others, Kill& kill, Clock::time_point began) {
    const std::string verdict = "error launch: " + kill.victim + " ";
    wait_for([&](const Event& event) { return event.text.find(verdict) != std::string::npos; });
    kill.named = Clock::now() - began;
    wait_until_gone(others);
    kill.ended = Clock::now() - began;
    recover(kill, began);
  }

  // Ranks notice that nobody looks after them; whoever started the launcher starts it again.
  void restart_launcher(const std::vector<FileDescriptor>& others,
                        Kill& kill,
                        Clock::time_point began) {
    wait_for([](const Event& event) { return event.kind == Event::Kind::end; });
    wait_until_gone(others);
    kill.ended = Clock::now() - began;
    run_.start();
    recover(kill, began);
  }

  static void wait_until_gone(const std::vector<FileDescriptor>& processes) {
    for (const auto& each : processes) {
      pollfd entry{.fd = each.get(), .events = POLLIN, .revents = 0};
      if (each.is_open() && ::poll(&entry, 1, kGoneLimitMs) != 1) {
        throw Error("a rank outlived the others by a minute");
      }
    }
  }

  // Follows the run to its first new step, or only to where the next kill comes.
  void recover(Kill& kill, Clock::time_point began) {
    is_restored_ = false;
    wait_for([&](const Event& event) {
      if (plan_.kind == Event::Kind::line && is_restore(event)) {
        is_restored_ = true;
        resumed_ = std::stoll(event.text.substr(event.text.rfind('-') + 1));
      }
      return is_restored_ || event.kind == Event::Kind::start;
    });
    kill.step = step_;
    kill.resumed = resumed_;
    if (is_restored_) return;
    wait_for([](const Event& event) { return event.kind == Event::Kind::step; });
    kill.recovered = Clock::now() - began;
  }

  static std::string name_of(Event::Kind kind) {
    if (kind == Event::Kind::save) return "save";
    return kind == Event::Kind::line ? "restore" : "step";
  }

  [[nodiscard]] std::string tail() const {
    const std::string& lines = run_.all_lines();
    return lines.substr(lines.size() - std::min<std::size_t>(lines.size(), 4000));
  }

  DrillOptions options_;
  std::mt19937_64 random_;
  WatchedRun run_;
  DrillResult result_;
  std::int64_t step_ = 0;
  std::int64_t resumed_ = 0;
  Plan plan_;
  /// The run has just read a checkpoint, and no step was seen since.
  bool is_restored_ = false;
};

}  // namespace

DrillResult run_drill(const DrillOptions& options) { return Drill(options).run(); }

void run_undisturbed(const DrillOptions& options, std::int64_t steps) {
  const auto result = testing::run_command(command_of(options, steps), Seconds(900));
  if (result.exit_code != 0)
    throw Error("the undisturbed run failed: " + testing::describe(result));
}

std::string table_of(const DrillResult& result) {
  const auto milliseconds = [](Seconds time) { return fmt::format("{:.0f}", time.count() * 1e3); };
  std::string text =
      "| killed | during | last step | goes on from | named ms | others gone ms | new step ms |\n"
      "|---|---|---|---|---|---|---|\n";
  std::vector<Seconds> named;
  std::vector<Seconds> ended;
  std::vector<Seconds> recovered;
  for (const Kill& kill : result.kills) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n",
                        kill.victim,
                        kill.moment,
                        kill.step,
                        kill.resumed,
                        kill.named ? milliseconds(*kill.named) : "-",
                        milliseconds(kill.ended),
                        kill.recovered ? milliseconds(*kill.recovered) : "-");
    if (kill.named) named.push_back(*kill.named);
    ended.push_back(kill.ended);
    if (kill.recovered) recovered.push_back(*kill.recovered);
  }
  const auto row = [&](const char* name, auto pick) {
    text += fmt::format(
        "| **{}** | | | | {} | {} | {} |\n", name, pick(named), pick(ended), pick(recovered));
  };
  const auto at = [&](double part) {
    return [&, part](std::vector<Seconds> times) -> std::string {
      if (times.empty()) return "-";
      std::sort(times.begin(), times.end());
      return milliseconds(
          times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))]);
    };
  };
  row("median", at(0.5));
  row("longest", at(1.0));
  return text;
}

}  // namespace sheaf::drill

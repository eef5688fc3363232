#include "sheaf/launch/start_ranks.h"

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_line.h"
#include "sheaf/base/error.h"
#include "sheaf/launch/launcher.h"

namespace sheaf::launch {
namespace {

struct Arguments {
  std::optional<int> ranks;
  std::optional<std::string> mps;
  std::optional<int> max_restarts;
  std::optional<int> max_fruitless;
  std::optional<int> min_ranks;
  std::string ranks_file;
  /// The others, without the program's name.
  std::vector<std::string> others;
};

int parse_number(const std::string& name, std::string_view text, int least) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least) {
    throw UsageError(name + " must be a whole number of at least " + std::to_string(least) +
                     ", not '" + std::string(text) + "'");
  }
  return number;
}

Mps parse_mps(std::string_view text) {
  for (const auto& [name, mps] : enum_names(Mps{})) {
    if (text == name) return mps;
  }
  throw UsageError("--mps must be auto, on or off, not '" + std::string(text) + "'");
}

// Walks over the command line; what is after `--` is nobody's option.
class Words {
 public:
  Words(int argc, char** argv) : words_(argv, argv + argc) {}

  bool next() {
    ++at_;
    is_ours_ = is_ours_ && at_ < words_.size() && words_[at_] != "--";
    return at_ < words_.size();
  }
  [[nodiscard]] const std::string& word() const { return words_[at_]; }

  // Returns the value if this is the option, as `--name value` or `--name=value`.
  std::optional<std::string> value_of(const std::string& name) {
    if (!is_ours_) return std::nullopt;
    if (word().starts_with(name + "=")) return word().substr(name.size() + 1);
    if (word() != name) return std::nullopt;
    if (at_ + 1 == words_.size()) throw UsageError(name + " needs a value");
    return words_[++at_];
  }

 private:
  std::vector<std::string> words_;
  std::size_t at_ = 0;
  bool is_ours_ = true;
};

// Takes one option that is a number, once; returns whether the word was that.
bool take_number(Words& words, const std::string& name, int least, std::optional<int>& target) {
  const auto text = words.value_of(name);
  if (!text) return false;
  if (target.has_value()) throw UsageError(name + " is given twice");
  target = parse_number(name, *text, least);
  return true;
}

Arguments parse(int argc, char** argv) {
  Arguments found;
  for (Words words(argc, argv); words.next();) {
    if (take_number(words, "--ranks", 1, found.ranks) ||
        take_number(words, "--max-restarts", 0, found.max_restarts) ||
        take_number(words, "--max-fruitless", 0, found.max_fruitless) ||
        take_number(words, "--min-ranks", 0, found.min_ranks)) {
      continue;
    }
    if (const auto mps = words.value_of("--mps")) {
      found.mps = mps;
    } else if (const auto file = words.value_of("--ranks-file")) {
      found.ranks_file = *file;
    } else {
      found.others.push_back(words.word());
    }
  }
  return found;
}

// Where a launcher tells a rank that it is one, and how many there are.
struct JobVariables {
  const char* rank;
  const char* also;
  const char* size;
};

constexpr JobVariables kJobs[] = {
    {"RANK", "WORLD_SIZE", "WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS"},
};

// Returns the size of the job this process is a rank of, as its launcher wrote it.
std::optional<std::string> job_size() {
  for (const auto& job : kJobs) {
    if (std::getenv(job.rank) == nullptr || std::getenv(job.also) == nullptr) continue;
    const char* size = std::getenv(job.size);
    return size != nullptr ? size : "unknown";
  }
  return std::nullopt;
}

std::string own_path() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  // A program that was rebuilt meanwhile has no path any more, but can still be started again.
  const bool usable = !error && std::filesystem::exists(path, error);
  return usable ? path.string() : "/proc/self/exe";
}

// Who says auto leaves it to the program, which knows whether its ranks use GPUs.
Mps choose_mps(const Arguments& arguments, const StartOptions& options) {
  const Mps asked = arguments.mps ? parse_mps(*arguments.mps) : Mps::automatic;
  return asked == Mps::automatic ? options.mps : asked;
}

std::optional<int> start(const Arguments& arguments, const StartOptions& options) {
  const bool restarts = arguments.max_restarts.value_or(0) > 0;
  if (!arguments.ranks.has_value() && !restarts) return std::nullopt;
  const std::string ranks = std::to_string(arguments.ranks.value_or(1));
  if (const auto size = job_size()) {
    if (*size == ranks || !arguments.ranks.has_value()) return std::nullopt;
    throw UsageError("this is already a rank of a job of size " + *size +
                     ", so --ranks cannot be " + ranks);
  }
  LaunchOptions launched{.ranks = arguments.ranks.value_or(1),
                         .output = Output::first_rank_plain,
                         .mps = choose_mps(arguments, options),
                         .run_dir = options.run_dir,
                         .max_restarts = arguments.max_restarts.value_or(0),
                         .min_ranks = arguments.min_ranks.value_or(0),
                         .ranks_file = arguments.ranks_file};
  launched.max_fruitless = arguments.max_fruitless.value_or(launched.max_fruitless);
  launched.command.push_back(own_path());
  launched.command.insert(launched.command.end(), arguments.others.begin(), arguments.others.end());
  return launch(launched);
}

}  // namespace

std::optional<int> start_ranks(const StartOptions& options) {
  std::vector<std::string> arguments = own_command_line();
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  return start(parse(static_cast<int>(pointers.size()), pointers.data()), options);
}

std::optional<int> start_ranks(int argc, char** argv) { return start(parse(argc, argv), {}); }

}  // namespace sheaf::launch

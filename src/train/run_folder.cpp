#include "sheaf/train/run_folder.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/command_line.h"
#include "sheaf/base/error.h"
#include "sheaf/base/toml.h"
#include "sheaf/train/environment.h"
#include "sheaf/train/sinks.h"

namespace sheaf::train {
namespace {

namespace fs = std::filesystem;

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  if (!file.flush()) throw IoError(fmt::format("cannot write {}", path.string()));
}

fs::path make_folder(const std::string& name) {
  std::error_code error;
  fs::create_directories(name, error);
  if (error) throw IoError(fmt::format("log.dir: cannot make {}: {}", name, error.message()));
  return name;
}

/// Writes down where the run took place, once that is known.
class EnvironmentSink final : public Sink {
 public:
  explicit EnvironmentSink(fs::path path) : path_(std::move(path)) {}

  void start(const RunInfo& info) override {
    write_file(path_, environment_json(info, own_command_line()));
  }
  void step(const StepRecord& /*step*/, const Progress& /*progress*/) override {}
  void evaluation(const EvaluationRecord& /*evaluation*/) override {}
  void sample(std::int64_t /*step*/, const std::string& /*text*/) override {}
  void end(const Summary& /*summary*/) override {}

 private:
  fs::path path_;
};

}  // namespace

std::vector<std::shared_ptr<Sink>> open_run_folder(const RunOptions& options) {
  if (options.log.dir.empty()) return {};
  const fs::path folder = make_folder(options.log.dir);
  RunOptions copy = options;
  write_file(folder / "config.toml", write_toml(fields_of(copy)));
  std::vector<std::shared_ptr<Sink>> sinks;
  sinks.push_back(std::make_shared<EnvironmentSink>(folder / "environment.json"));
  sinks.push_back(json_sink(folder));
  if (options.log.tensorboard) sinks.push_back(tensorboard_sink(folder));
  return sinks;
}

}  // namespace sheaf::train

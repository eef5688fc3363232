#include "transformers_peer.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <utility>

#include "sheaf/base/error.h"
#include "support/run_command.h"
#include "torchrun.h"

namespace sheaf::testing {
namespace {

const std::string kInstall = "pip install the transformers that ./dev names into .deps/venv";

// The shapes of transformers_peer.py.
const std::map<std::string, models::ModelOptions> kOptions{
    {"gpt2", {.preset = "gpt2-tiny", .layers = 3}},
    {"llama", {.preset = "llama-tiny", .layers = 3, .kv_heads = 2}},
    {"smollm3", {.preset = "smollm3-tiny", .layers = 5, .kv_heads = 2}},
};

models::ModelOptions options_of(const std::string& name) {
  models::ModelOptions options = kOptions.at(name);
  options.width = 32;
  options.heads = 4;
  options.hidden = 80;
  options.vocabulary = TransformersPeer::kVocabulary;
  options.context = TransformersPeer::kContext;
  return options;
}

/// Returns the Python that has torch; empty if there is none.
std::string find_python() {
  const auto torchrun = find_torchrun();
  if (!torchrun) return "";
  return std::filesystem::path(*torchrun).parent_path() / "python3";
}

}  // namespace

TransformersPeer::TransformersPeer(std::string name)
    : name_(std::move(name)),
      folder_(::testing::TempDir() + "sheaf_transformers_" + name_ + std::to_string(::getpid())) {
  std::filesystem::create_directories(folder_);
}

TransformersPeer::~TransformersPeer() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string TransformersPeer::why_not() {
  const std::string python = find_python();
  if (python.empty()) return kInstallTorchrun;
  const std::string code =
      "import importlib.util as u, sys; sys.exit(u.find_spec('transformers') is None)";
  return run_command({python, "-c", code}).exit_code == 0 ? "" : kInstall;
}

CommandResult TransformersPeer::run_python(const std::string& script,
                                           const std::vector<std::string>& arguments) {
  // No model is fetched, so nothing may ask the network for one.
  std::vector<std::string> command{"env",
                                   "OMP_NUM_THREADS=1",
                                   "HF_HUB_OFFLINE=1",
                                   "TRANSFORMERS_VERBOSITY=error",
                                   find_python(),
                                   script};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_command(command);
}

void TransformersPeer::run(const std::string& mode) {
  const CommandResult result = run_python(SHEAF_TRANSFORMERS_PEER, {mode, name_, folder_});
  if (result.exit_code != 0) throw Error(describe(result));
}

std::shared_ptr<models::Model> TransformersPeer::model() {
  if (!std::filesystem::exists(file("weights"))) run("make");
  TensorFile weights = read_safetensors(file("weights"));
  auto model = models::build(options_of(name_));
  const at::NoGradGuard no_grad;
  for (const auto& item : model->named_parameters()) {
    const auto found = weights.find(item.key());
    if (found == weights.end()) throw Error("transformers has no " + item.key());
    if (found->second.sizes() != item.value().sizes()) throw Error("another shape: " + item.key());
    item.value().copy_(found->second);
    weights.erase(found);
  }
  if (!weights.empty()) throw Error("sheaf has no " + weights.begin()->first);
  return model;
}

TensorFile TransformersPeer::pass(const at::Tensor& inputs, const at::Tensor& targets) {
  write_safetensors(file("batch"), {{"inputs", inputs}, {"targets", targets}});
  run("pass");
  return read_safetensors(file("passed"));
}

TensorFile TransformersPeer::train(const at::Tensor& inputs, const at::Tensor& targets) {
  write_safetensors(file("batch"), {{"inputs", inputs}, {"targets", targets}});
  run("train");
  return read_safetensors(file("trained"));
}

}  // namespace sheaf::testing

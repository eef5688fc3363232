// How many tokens a second does a model write, beside Hugging Face's transformers?
//
//   build/bench/generate [--preset gpt2-124m] [--prompt-tokens 64] [--tokens 64] [--batch 1]
//
// Saves a random model as a folder, and lets both sides continue the same tokens with it, always
// with the likeliest one, in fp32 on the CPU with one thread and with two. The time for the prompt
// ends with the first token.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "median.h"
#include "run_program.h"
#include "sheaf/base/error.h"
#include "sheaf/base/table.h"
#include "sheaf/hub/folder_writer.h"
#include "sheaf/hub/load_model.h"
#include "sheaf/models/generate.h"
#include "sheaf/module/deferred.h"
#include "temporary_folder.h"

namespace sheaf::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;
using Tokens = std::vector<std::int64_t>;

struct Options {
  std::string preset = "gpt2-124m";
  std::string python = ".deps/venv/bin/python3";
  std::string peer = "bench/generate/transformers_peer.py";
  int prompt_tokens = 64;
  int tokens = 64;
  int batch = 1;
  int repetitions = 5;
};

/// What one side has measured: seconds of every repetition, and the tokens of the first text.
struct Measured {
  std::vector<double> prompt;
  std::vector<double> later;
  Tokens tokens;
};

void write_model(const std::string& path, const std::string& preset) {
  const models::Shape shape = models::resolve({.preset = preset});
  const auto model = deferred([&] { return models::build_shape(shape); });
  materialize(*model, /*seed=*/1);
  hub::FolderWriter writer(
      path,
      {.config = hub::format_config(shape, at::kFloat), .parameters = hub::parameters_of(shape)});
  for (const auto& item : model->named_parameters()) {
    writer.write(item.key(), 0, item.value().detach().flatten());
  }
  writer.finish();
}

/// Returns the same tokens for every text of a batch, as random ones are.
std::vector<Tokens> prompts_of(const Options& options, std::int64_t vocabulary) {
  std::vector<Tokens> prompts(static_cast<std::size_t>(options.batch));
  std::uint64_t state = 1;
  for (Tokens& prompt : prompts) {
    for (int i = 0; i < options.prompt_tokens; ++i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      prompt.push_back(
          static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(vocabulary)));
    }
  }
  return prompts;
}

Measured run_sheaf(const std::string& folder, const Options& options, int threads) {
  at::set_num_threads(threads);
  const auto model = hub::load_model(hub::ModelFolder(folder));
  const auto prompts = prompts_of(options, model->shape().vocabulary);
  Measured measured;
  for (int i = 0; i <= options.repetitions; ++i) {
    Clock::time_point first;
    const Clock::time_point begin = Clock::now();
    const auto texts = models::generate_all(*model,
                                            prompts,
                                            {.max_new_tokens = options.tokens,
                                             .temperature = 0,
                                             .on_token = [&](std::size_t, std::int64_t) {
                                               if (first == Clock::time_point())
                                                 first = Clock::now();
                                               return true;
                                             }});
    const Clock::time_point end = Clock::now();
    if (i == 0) continue;  // warms up
    measured.prompt.push_back(Seconds(first - begin).count());
    measured.later.push_back(Seconds(end - first).count());
    measured.tokens = texts.front().tokens;
  }
  return measured;
}

Measured run_transformers(const std::string& folder,
                          const bench::TemporaryFolder& scratch,
                          const Options& options,
                          int threads) {
  const std::string request = scratch / "request.json";
  const std::int64_t vocabulary = hub::ModelFolder(folder).config().shape.vocabulary;
  std::ofstream(request) << json{{"folder", folder},
                                 {"prompts", prompts_of(options, vocabulary)},
                                 {"tokens", options.tokens},
                                 {"repetitions", options.repetitions},
                                 {"threads", threads}};
  const std::string answer = scratch / "answer.json";
  const std::string command = fmt::format("OMP_NUM_THREADS={} HF_HUB_OFFLINE=1 {} {} {} > {}",
                                          threads,
                                          options.python,
                                          options.peer,
                                          request,
                                          answer);
  if (std::system(command.c_str()) != 0) throw Error("transformers could not be measured");
  std::ifstream file(answer);
  const json page = json::parse(file);
  return {page["prompt"], page["later"], page["generated"]};
}

void add_row(Table& table,
             const std::string& side,
             const Options& options,
             const Measured& measured,
             int threads) {
  const double prompt = options.batch * options.prompt_tokens / median(measured.prompt);
  const double later = options.batch * (options.tokens - 1) / median(measured.later);
  table.add({std::to_string(threads),
             side,
             fmt::format("{:.1f}", prompt),
             fmt::format("{:.1f}", later),
             fmt::format("{:.3f}", fmt::join(measured.later, " "))});
}

int run(const Options& options) {
  const bench::TemporaryFolder scratch;
  const std::string folder = scratch / "model";
  write_model(folder, options.preset);
  Table table({"threads", "side", "prompt tokens/s", "new tokens/s", "seconds for the new ones"});
  bool is_same = true;
  for (const int threads : {1, 2}) {
    const Measured theirs = run_transformers(folder, scratch, options, threads);
    const Measured ours = run_sheaf(folder, options, threads);
    add_row(table, "transformers", options, theirs, threads);
    add_row(table, "sheaf", options, ours, threads);
    is_same = is_same && ours.tokens == theirs.tokens;
  }
  std::cout << fmt::format("{}, fp32, {} texts, {} tokens of prompt, {} new\n",
                           options.preset,
                           options.batch,
                           options.prompt_tokens,
                           options.tokens)
            << table.str() << (is_same ? "the same tokens\n" : "THE TOKENS DIFFER\n");
  return is_same ? 0 : 1;
}

}  // namespace
}  // namespace sheaf::bench

int main(int argc, char** argv) {
  sheaf::bench::Options options;
  const auto declare = [&](sheaf::cli::OptionSet& set) {
    set.value("preset", options.preset, "model");
    set.value("python", options.python, "Python with transformers");
    set.value("peer", options.peer, "its program");
    set.value("prompt-tokens", options.prompt_tokens, "tokens of a prompt", sheaf::at_least(1));
    set.value("tokens", options.tokens, "new tokens", sheaf::at_least(2));
    set.value("batch", options.batch, "texts together", sheaf::at_least(1));
    set.value("repetitions", options.repetitions, "runs", sheaf::at_least(1));
  };
  return sheaf::bench::run_program(
      argc, argv, "tokens per second beside transformers", declare, [&] {
        return sheaf::bench::run(options);
      });
}

// How fast is text turned into tokens, beside Hugging Face's `tokenizers`, and does packing scale?
//
//   build/bench/tokenizer [--repetitions 5] [--tokenizer configs/tokenizers/gpt2]
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "median.h"
#include "run_program.h"
#include "sheaf/base/error.h"
#include "sheaf/data/embedded_corpus.h"
#include "sheaf/data/pack.h"
#include "sheaf/data/tokenizer.h"
#include "temporary_folder.h"

namespace sheaf::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Options {
  std::string tokenizer = "configs/tokenizers/gpt2";
  std::string python = ".deps/venv/bin/python3";
  std::string peer = "bench/tokenizer/tokenizers_peer.py";
  int repetitions = 5;
  /// Copies of the embedded text that are packed.
  int copies = 40;
};

template <class Run>
std::vector<double> timed(int repetitions, const Run& run) {
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    seconds.push_back(Seconds(std::chrono::steady_clock::now() - start).count());
  }
  return seconds;
}

/// Returns the embedded text with the separator after every scene-sized part.
std::string as_documents() {
  constexpr std::size_t kDocumentBytes = 2000;
  std::string text;
  const std::string_view all = data::embedded_corpus();
  for (std::size_t at = 0; at < all.size(); at += kDocumentBytes) {
    text += std::string(all.substr(at, kDocumentBytes)) + "<|endoftext|>";
  }
  return text;
}

std::vector<std::string_view> split(std::string_view text) {
  constexpr std::string_view kSeparator = "<|endoftext|>";
  std::vector<std::string_view> documents;
  for (auto at = text.find(kSeparator); at != std::string_view::npos; at = text.find(kSeparator)) {
    documents.push_back(text.substr(0, at));
    text.remove_prefix(at + kSeparator.size());
  }
  return documents;
}

/// Writes GPT-2's two files as a tokenizer.json, which is what the other side reads.
void write_tokenizer_json(const std::string& folder, const std::string& path) {
  std::ifstream vocabulary(folder + "/vocab.json");
  std::ifstream lines(folder + "/merges.txt");
  if (!vocabulary || !lines)
    throw UsageError("there are no vocab.json and merges.txt in " + folder);
  json merges = json::array();
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && !line.starts_with("#version")) merges.push_back(line);
  }
  const json byte_level{{"type", "ByteLevel"},
                        {"add_prefix_space", false},
                        {"trim_offsets", true},
                        {"use_regex", true}};
  std::ofstream(path) << json{
      {"version", "1.0"},
      {"added_tokens", json::array()},
      {"pre_tokenizer", byte_level},
      {"decoder", byte_level},
      {"model",
       {{"type", "BPE"}, {"vocab", json::parse(vocabulary)}, {"merges", std::move(merges)}}}};
}

json run_peer(const Options& options, const bench::TemporaryFolder& folder) {
  const std::string command = fmt::format("{} {} {} {} {} {}",
                                          options.python,
                                          options.peer,
                                          folder / "tokenizer.json",
                                          folder / "text",
                                          folder / "documents",
                                          options.repetitions);
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw IoError("cannot start " + command);
  std::string output;
  char buffer[4096];
  while (const std::size_t size = std::fread(buffer, 1, sizeof(buffer), pipe))
    output.append(buffer, size);
  if (::pclose(pipe) != 0) throw IoError("the other side failed: " + command);
  return json::parse(output);
}

void print_row(const std::string& what,
               std::size_t bytes,
               const json& theirs,
               const std::vector<double>& ours) {
  const double megabytes = static_cast<double>(bytes) / 1e6;
  const double their_speed = megabytes / median(theirs.get<std::vector<double>>());
  const double our_speed = megabytes / median(ours);
  fmt::print(
      "| {} | {:.1f} | {:.1f} | {:.1f} |\n", what, their_speed, our_speed, our_speed / their_speed);
}

void compare(const Options& options, const bench::TemporaryFolder& folder) {
  const std::string_view text = data::embedded_corpus();
  const std::string documents = as_documents();
  std::ofstream(folder / "text") << text;
  std::ofstream(folder / "documents") << documents;
  write_tokenizer_json(options.tokenizer, folder / "tokenizer.json");
  const json theirs = run_peer(options, folder);
  const auto tokenizer = data::open_tokenizer(folder / "tokenizer.json");
  const std::size_t tokens = tokenizer->encode(text).size();
  if (tokens != theirs["tokens"]) throw Error("the two sides have different tokens");
  const auto whole = timed(options.repetitions, [&] { (void)tokenizer->encode(text); });
  const auto parts = split(documents);
  const auto each = timed(options.repetitions, [&] {
    for (const auto part : parts) (void)tokenizer->encode(part);
  });
  fmt::print("one thread, {} bytes, {} tokens\n\n", text.size(), tokens);
  fmt::print("| | tokenizers MB/s | sheaf MB/s | ratio |\n|---|---|---|---|\n");
  print_row("whole text, encode", text.size(), theirs["whole"], whole);
  print_row("whole text, encode_batch_fast", text.size(), theirs["fast"], whole);
  print_row("documents of 2000 bytes", text.size(), theirs["documents"], each);
}

void measure_packing(const Options& options, const bench::TemporaryFolder& folder) {
  {
    std::ofstream file(folder / "corpus");
    const std::string documents = as_documents();
    for (int i = 0; i < options.copies; ++i) file << documents;
  }
  const auto tokenizer = data::open_tokenizer(options.tokenizer);
  fmt::print("\npacking {} copies\n\n| threads | MB/s |\n|---|---|\n", options.copies);
  for (const int threads : {1, 2}) {
    data::PackSummary summary;
    const auto seconds = timed(options.repetitions, [&] {
      fs::remove_all(folder / "packed");
      summary = data::pack({.input = {.paths = {folder / "corpus"}, .threads = threads},
                            .tokenizer = tokenizer,
                            .out = folder / "packed"});
    });
    fmt::print("| {} | {:.1f} |\n",
               threads,
               static_cast<double>(summary.text_bytes) / 1e6 / median(seconds));
  }
}

void run(const Options& options) {
  const bench::TemporaryFolder folder;
  compare(options, folder);
  measure_packing(options, folder);
}

}  // namespace
}  // namespace sheaf::bench

int main(int argc, char** argv) {
  sheaf::bench::Options options;
  const auto declare = [&](sheaf::cli::OptionSet& set) {
    set.value("tokenizer", options.tokenizer, "folder with vocab.json and merges.txt");
    set.value("python", options.python, "the interpreter that has tokenizers");
    set.value("peer", options.peer, "the other side");
    set.value("repetitions", options.repetitions, "runs of each side", sheaf::at_least(1));
    set.value("copies", options.copies, "copies of the text that are packed", sheaf::at_least(1));
  };
  return sheaf::bench::run_program(
      argc, argv, "turn text into tokens beside tokenizers", declare, [&] {
        sheaf::bench::run(options);
        return 0;
      });
}

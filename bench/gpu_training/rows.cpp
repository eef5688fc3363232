#include "rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sheaf/base/error.h"
#include "sheaf/base/nearest.h"

namespace sheaf::bench {
namespace {

/// What one arithmetic is called, and the options that ask sheaf for it.
struct Dialect {
  Arithmetic arithmetic = Arithmetic::fp32;
  std::string_view name;
  std::vector<std::string> options;
};

const std::vector<Dialect>& dialects() {
  static const std::vector<Dialect> all = {
      {Arithmetic::fp32, "fp32", {"--precision.compute=fp32"}},
      {Arithmetic::tf32, "tf32", {"--precision.compute=tf32"}},
      {Arithmetic::bf16_master,
       "bf16_master",
       {"--precision.compute=bf16", "--precision.reduce=bf16"}},
      {Arithmetic::bf16,
       "bf16",
       {"--precision.compute=bf16",
        "--precision.reduce=bf16",
        "--precision.master=bf16",
        "--optimizer.moments=bf16"}}};
  return all;
}

const Dialect& dialect_of(Arithmetic arithmetic) {
  return *std::ranges::find(dialects(), arithmetic, &Dialect::arithmetic);
}

/// No side clips gradients, drops anything out, evaluates or writes samples.
const std::vector<std::string> kOptions = {"--model.dropout=0",
                                           "--model.attention_dropout=0",
                                           "--data.source=random",
                                           "--data.size=4000000",
                                           "--data.evaluation_part=0",
                                           "--optimizer.clip=0",
                                           "--shard.stage=ddp",
                                           "--shard.bucket=64MiB",
                                           "--train.evaluate=false",
                                           "--train.sample_tokens=0"};

/// cuDNN has no attention in fp32; then the next best kernel is taken. Where nobody clips, the
/// optimizer can step within backward; on CPUs that brings nothing.
const std::vector<std::string> kGpuOptions = {
    "--comm.device=cuda", "--model.attention=cudnn", "--optimizer.in_backward=true"};

/// Returns an option up to its value.
std::string_view key_of(std::string_view option) { return option.substr(0, option.find('=')); }

void put(std::vector<std::string>& options, const std::string& change) {
  const auto same = std::ranges::find(options, key_of(change), &key_of);
  if (same == options.end()) {
    options.push_back(change);
  } else {
    *same = change;
  }
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {.name = "gpt2-large-b1", .preset = "gpt2-774m", .batch = 1},
      {.name = "gpt2-large-b8", .preset = "gpt2-774m", .batch = 8},
      {.name = "gpt2-large-b32", .preset = "gpt2-774m", .batch = 32},
      {.name = "gpt2-large-b8-tf32",
       .preset = "gpt2-774m",
       .batch = 8,
       .arithmetic = Arithmetic::tf32},
      {.name = "gpt2-124m-b32", .preset = "gpt2-124m", .batch = 32},
      {.name = "gpt2-xl-b8", .preset = "gpt2-1558m", .batch = 8},
      {.name = "smollm3-3b-t8192",
       .preset = "smollm3-3b",
       .batch = 1,
       .length = 8192,
       .arithmetic = Arithmetic::bf16},
      // These two try the benchmark itself where there is no GPU.
      {.name = "gpt2-tiny-cpu",
       .preset = "gpt2-tiny",
       .batch = 2,
       .length = 128,
       .arithmetic = Arithmetic::fp32,
       .device = "cpu"},
      {.name = "smollm3-tiny-cpu",
       .preset = "smollm3-tiny",
       .batch = 2,
       .length = 128,
       .arithmetic = Arithmetic::fp32,
       .device = "cpu"}};
  return all;
}

const Row& find_row(std::string_view name) {
  const auto found = std::ranges::find(rows(), name, &Row::name);
  if (found != rows().end()) return *found;
  std::vector<std::string> names;
  for (const Row& row : rows()) names.emplace_back(row.name);
  throw UsageError(fmt::format("--row must be {}, got '{}'", join_or(names), name));
}

models::Shape shape_of(const Row& row) {
  return models::resolve({.preset = std::string(row.preset),
                          .context = row.length,
                          .dropout = 0,
                          .attention_dropout = 0});
}

std::vector<std::string> sheaf_options(const Row& row, const std::vector<std::string>& changes) {
  std::vector<std::string> options = {fmt::format("--model.preset={}", row.preset),
                                      fmt::format("--model.context={}", row.length),
                                      fmt::format("--batch.global={}", row.batch)};
  append(options, kOptions);
  if (row.device == "cuda") append(options, kGpuOptions);
  append(options, dialect_of(row.arithmetic).options);
  for (const std::string& change : changes) put(options, "--" + change);
  return options;
}

std::string_view name_of(Arithmetic arithmetic) { return dialect_of(arithmetic).name; }

}  // namespace sheaf::bench

#include "cli/data_pack_command.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "base/quoting.h"
#include "cli/exit_codes.h"
#include "sheaf/base/error.h"
#include "sheaf/base/table.h"

namespace sheaf::cli {
namespace {

double megabytes_per_second(const data::PackSummary& summary, Seconds elapsed) {
  return static_cast<double>(summary.text_bytes) / 1e6 / std::max(elapsed.count(), 1e-9);
}

std::string end_text(const data::PackOptions& options, const data::PackSummary& summary) {
  const std::string& name = options.end_token.empty() ? options.input.separator : options.end_token;
  return summary.end_token ? fmt::format("{} (token {})", escaped(name), *summary.end_token)
                           : fmt::format("nothing, the tokenizer has no token {}", in_quotes(name));
}

std::string text_of(const data::PackOptions& options,
                    const data::PackSummary& summary,
                    Seconds elapsed) {
  Table table;
  table.add({"  documents", fmt::format("{}", summary.documents)});
  table.add({"  text", to_string(Bytes{static_cast<std::int64_t>(summary.text_bytes)})});
  table.add({"  tokens",
             fmt::format("{}, {:.2f} bytes of text each",
                         summary.tokens,
                         static_cast<double>(summary.text_bytes) /
                             static_cast<double>(std::max<std::int64_t>(summary.tokens, 1)))});
  table.add({"  after each document", end_text(options, summary)});
  table.add({"  tokenizer",
             fmt::format("{}, {:016x}", options.tokenizer->name(), options.tokenizer->hash())});
  table.add({"  files", fmt::format("{}, {}", summary.shards, to_string(summary.size))});
  table.add(
      {"  time",
       fmt::format("{}, {:.1f} MB/s", to_string(elapsed), megabytes_per_second(summary, elapsed))});
  return fmt::format("{}\n", options.out) + table.str();
}

std::string json_of(const data::PackOptions& options,
                    const data::PackSummary& summary,
                    Seconds elapsed) {
  nlohmann::json page = {{"path", options.out},
                         {"documents", summary.documents},
                         {"text_bytes", summary.text_bytes},
                         {"tokens", summary.tokens},
                         {"files", summary.shards},
                         {"bytes", summary.size.count},
                         {"vocabulary", options.tokenizer->vocabulary()},
                         {"tokenizer_hash", fmt::format("{:016x}", options.tokenizer->hash())},
                         {"end_token", nullptr},
                         {"seconds", elapsed.count()}};
  if (summary.end_token) page["end_token"] = *summary.end_token;
  return page.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

void DataPackCommand::declare(OptionSet& options) {
  input_.declare(options);
  options.value("tokenizer", tokenizer_, "tokenizer.json, a folder with one, or bytes");
  options.value("out", pack_.out, "folder to make");
  options.value("end-token", pack_.end_token, "token after each document; empty: the separator");
  options.value("shard-tokens", pack_.shard_tokens, "tokens per file", at_least(1));
  options.flag("json", json_, "print the summary as JSON");
}

int DataPackCommand::run(Console& console) {
  if (tokenizer_.empty())
    throw UsageError("--tokenizer is missing: tokenizer.json, a folder, or bytes");
  if (pack_.out.empty()) throw UsageError("--out is missing: the folder to make");
  pack_.tokenizer = data::open_tokenizer(tokenizer_);
  data::PackSummary summary;
  const Reading reading =
      read_documents(input_.input, console, [&](const data::InputOptions& watched) {
        pack_.input = watched;
        summary = data::pack(pack_);
      });
  if (reading.signal != 0) return exit_code_of_signal(reading.signal);
  console.out << (json_ ? json_of(pack_, summary, reading.elapsed)
                        : text_of(pack_, summary, reading.elapsed));
  return 0;
}

}  // namespace sheaf::cli

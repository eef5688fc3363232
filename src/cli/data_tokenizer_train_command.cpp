#include "cli/data_tokenizer_train_command.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/exit_codes.h"
#include "data/unfinished_file.h"
#include "sheaf/base/error.h"
#include "sheaf/base/table.h"
#include "sheaf/data/tokenizer.h"

namespace sheaf::cli {

void DataTokenizerTrainCommand::declare(OptionSet& options) {
  input_.declare(options);
  options.value("size", training_.size, "tokens in all, special ones and bytes among them");
  options.value("out", out_, "tokenizer.json to write");
  options.value("pattern", training_.pattern, "how text is split into words");
  options.value("special", training_.special_tokens, "special tokens, which get the first numbers");
  options.value(
      "min-count", training_.min_count, "pairs seen less often are not joined", at_least(1));
  options.flag("json", json_, "print the summary as JSON");
}

int DataTokenizerTrainCommand::run(Console& console) {
  if (training_.size == 0) throw UsageError("--size is missing: the number of tokens");
  if (out_.empty()) throw UsageError("--out is missing: the tokenizer.json to write");
  data::check(training_);
  const Reading reading =
      read_documents(input_.input, console, [&](const data::InputOptions& watched) {
        const auto words = data::count_words(watched, training_.pattern);
        data::TokenizerTrainingOptions training = training_;
        training.should_stop = watched.should_stop;
        const std::string text = data::train_tokenizer(words, training);
        data::UnfinishedFile file(out_);
        file.write(0, std::as_bytes(std::span(text)));
        file.finish();
      });
  if (reading.signal != 0) return exit_code_of_signal(reading.signal);
  const auto tokenizer = data::open_tokenizer(out_);
  if (json_) {
    const nlohmann::json page = {{"path", out_},
                                 {"tokens", tokenizer->vocabulary()},
                                 {"tokenizer_hash", fmt::format("{:016x}", tokenizer->hash())},
                                 {"seconds", reading.elapsed.count()}};
    console.out << page.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    return 0;
  }
  Table table;
  table.add({"  tokens", fmt::format("{}", tokenizer->vocabulary())});
  table.add({"  tokenizer", fmt::format("{}, {:016x}", tokenizer->name(), tokenizer->hash())});
  table.add({"  time", to_string(reading.elapsed)});
  console.out << out_ << "\n" << table.str();
  return 0;
}

}  // namespace sheaf::cli

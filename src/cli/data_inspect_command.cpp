#include "cli/data_inspect_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/utf8.h"
#include "cli/option_set.h"
#include "sheaf/base/error.h"
#include "sheaf/base/table.h"
#include "sheaf/data/token_files.h"
#include "sheaf/data/tokenizer.h"
#include "train/printable.h"

namespace sheaf::cli {
namespace {

using nlohmann::json;

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::string name_of(const std::string& path) { return std::filesystem::path(path).filename(); }

std::string dtype_of(const data::TokenFileInfo& info) {
  return info.bytes_per_token == 2 ? "uint16" : "uint32";
}

/// Returns the text of the first tokens.
std::string beginning_of(const data::TokenFiles& files,
                         const data::Tokenizer& tokenizer,
                         std::int64_t count) {
  const data::TokenFileInfo& info = files.info();
  if (tokenizer.hash() != info.tokenizer_hash) {
    throw UsageError(
        fmt::format("these files are of another tokenizer: they hold the hash {}, but {} has {}",
                    hash_text(info.tokenizer_hash),
                    tokenizer.name(),
                    hash_text(tokenizer.hash())));
  }
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(std::min(count, info.tokens)));
  files.tokens(0, static_cast<std::int64_t>(tokens.size()), tokens.data());
  return tokenizer.decode(tokens);
}

std::string text_of(const data::TokenFiles& files) {
  Table table({"file", "tokens", "documents", "checksum"});
  for (std::size_t i = 0; i < files.files().size(); ++i) {
    const data::TokenFileInfo& info = files.files()[i].info();
    table.add({name_of(files.paths()[i]),
               fmt::format("{}", info.tokens),
               fmt::format("{}", info.documents),
               hash_text(info.checksum)});
  }
  const data::TokenFileInfo& all = files.info();
  Table totals;
  totals.add({"tokens", fmt::format("{} of {}", all.tokens, dtype_of(all))});
  totals.add({"documents", fmt::format("{}", all.documents)});
  totals.add({"vocabulary", fmt::format("{}", all.vocabulary)});
  totals.add({"tokenizer", hash_text(all.tokenizer_hash)});
  return table.str() + "\n" + totals.str();
}

json json_of(const data::TokenFiles& files) {
  json list = json::array();
  for (std::size_t i = 0; i < files.files().size(); ++i) {
    const data::TokenFileInfo& info = files.files()[i].info();
    list.push_back({{"path", files.paths()[i]},
                    {"tokens", info.tokens},
                    {"documents", info.documents},
                    {"checksum", hash_text(info.checksum)}});
  }
  const data::TokenFileInfo& all = files.info();
  return {{"tokens", all.tokens},
          {"documents", all.documents},
          {"dtype", dtype_of(all)},
          {"vocabulary", all.vocabulary},
          {"tokenizer_hash", hash_text(all.tokenizer_hash)},
          {"files", list}};
}

}  // namespace

void DataInspectCommand::declare(OptionSet& options) {
  options.positional("path", path_, "a token file, or a folder of them");
  options.flag("verify", verify_, "read everything and compare the checksums");
  options.value("decode", decode_, "print the text of the first tokens", at_least(0));
  options.value("tokenizer", tokenizer_, "what the files were made with, for --decode");
  options.flag("json", json_, "print JSON");
}

int DataInspectCommand::run(Console& console) {
  if (decode_ > 0 && tokenizer_.empty()) throw UsageError("--decode needs --tokenizer");
  const data::TokenFiles files(path_);
  if (verify_) {
    for (const data::TokenFile& file : files.files()) file.verify();
  }
  std::string text;
  if (decode_ > 0) text = beginning_of(files, *data::open_tokenizer(tokenizer_), decode_);
  if (json_) {
    json page = json_of(files);
    if (verify_) page["verified"] = true;
    if (decode_ > 0) page["text"] = text;
    console.out << page.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
    return 0;
  }
  console.out << text_of(files);
  if (verify_) console.out << "every checksum is right\n";
  if (decode_ > 0) console.out << "\n" << train::printable_lines(text, "    ");
  return 0;
}

}  // namespace sheaf::cli

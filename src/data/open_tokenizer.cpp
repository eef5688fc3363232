#include <filesystem>

#include "base/mapped_file.h"
#include "data/bpe/bpe_tokenizer.h"
#include "data/bpe/gpt2_files.h"
#include "data/bpe/json_view.h"
#include "data/bpe/tokenizer_json.h"
#include "sheaf/base/error.h"
#include "sheaf/data/byte_tokenizer.h"
#include "sheaf/data/tokenizer.h"
#include "sheaf/data/tokenizer_training.h"

namespace sheaf::data {
namespace {

namespace fs = std::filesystem;

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bpe::Definition read_gpt2(const fs::path& vocab) {
  const fs::path merges = vocab.parent_path() / "merges.txt";
  if (!is_file(merges)) throw UsageError("there is no merges.txt beside it");
  return bpe::read_gpt2_files(text_of(MappedFile(vocab)), text_of(MappedFile(merges)));
}

bpe::Definition read_folder(const fs::path& folder) {
  if (is_file(folder / "tokenizer.json")) {
    return bpe::read_tokenizer_json(bpe::read_json(folder / "tokenizer.json"));
  }
  if (is_file(folder / "vocab.json")) return read_gpt2(folder / "vocab.json");
  throw UsageError("this folder has neither tokenizer.json nor vocab.json with merges.txt");
}

bpe::Definition read_file(const fs::path& path) {
  const auto json = bpe::read_json(path);
  if (json.is_object() && json.contains("model") && json["model"].is_object()) {
    return bpe::read_tokenizer_json(json);
  }
  if (path.filename() == "vocab.json") return read_gpt2(path);
  throw UsageError("this is no tokenizer.json, which has an object 'model'");
}

std::string read(const fs::path& path) { return std::string(text_of(MappedFile(path))); }

}  // namespace

std::map<std::string, std::string> tokenizer_files(const std::string& path) {
  if (path == "bytes") return {{"tokenizer.json", byte_tokenizer_json()}};
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  const fs::path file = is_folder ? fs::path(path) / "tokenizer.json" : fs::path(path);
  const bool is_gpt2 = is_folder ? !is_file(file) : file.filename() == "vocab.json";
  if (!is_gpt2) return {{"tokenizer.json", read(file)}};
  return {{"vocab.json", read(file.parent_path() / "vocab.json")},
          {"merges.txt", read(file.parent_path() / "merges.txt")}};
}

std::shared_ptr<const Tokenizer> open_tokenizer(const std::string& path) {
  if (path == "bytes") return std::make_shared<ByteTokenizer>();
  std::error_code ignored;
  try {
    return std::make_shared<bpe::BpeTokenizer>(fs::is_directory(path, ignored) ? read_folder(path)
                                                                               : read_file(path));
  } catch (const Error& error) {
    std::rethrow_exception(error.with_prefix("tokenizer " + path + ": "));
  }
}

}  // namespace sheaf::data

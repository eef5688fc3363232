#include "cli/generate_command.h"

#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <ostream>
#include <span>

#include "cli/exit_codes.h"
#include "cli/generate/session.h"
#include "sheaf/base/error.h"
#include "sheaf/hub/load_model.h"
#include "sheaf/train/interruption.h"
#include "sheaf/train/parallelize.h"
#include "train/printable.h"

namespace sheaf::cli {
namespace {

using Clock = std::chrono::steady_clock;

// How long a text becomes where nobody says it.
constexpr std::int64_t kUsualTokens = 128;
constexpr const char* kEndOfText = "<|endoftext|>";

std::shared_ptr<const data::Tokenizer> tokenizer_of(const std::string& folder,
                                                    const std::string& given) {
  if (!given.empty()) return data::open_tokenizer(given);
  std::error_code ignored;
  for (const char* name : {"tokenizer.json", "vocab.json"}) {
    if (std::filesystem::exists(std::filesystem::path(folder) / name, ignored)) {
      return data::open_tokenizer(folder);
    }
  }
  throw UsageError(
      "the model's folder has no tokenizer.json, so say --tokenizer "
      "(tokenizer.json, a folder with one, or bytes): " +
      folder);
}

/// Tokens that end a text; where the model names none, the one that `sheaf data` puts between
/// texts.
std::vector<std::int64_t> end_tokens(const hub::GenerationConfig& config,
                                     const data::Tokenizer& tokenizer) {
  if (!config.eos_token_ids.empty()) return config.eos_token_ids;
  const auto end = tokenizer.find(kEndOfText);
  return end ? std::vector{*end} : std::vector<std::int64_t>{};
}

std::int64_t tokens_within(std::int64_t wanted, std::int64_t room) {
  if (wanted == 0) return std::min(kUsualTokens, room);
  if (wanted <= room) return wanted;
  throw UsageError(
      fmt::format("--tokens: behind the longest prompt the model's context has room for {} tokens, "
                  "got {}",
                  room,
                  wanted));
}

std::string_view name_of(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return "fp32";
    case at::kHalf:
      return "fp16";
    case at::kBFloat16:
      return "bf16";
    default:
      return c10::toString(type);
  }
}

Generator describe(const std::string& folder, const models::Model& model, Seconds load_time) {
  const at::Tensor any = model.parameters().front();
  return {.folder = folder,
          .parameters = model.cost().parameters,
          .dtype = std::string(name_of(any.scalar_type())),
          .device = any.device().str(),
          .load_time = load_time};
}

/// Writes a text that is alone as it grows, and several one after the other when they are done.
class TextWriter {
 public:
  TextWriter(std::ostream& out, bool is_alone) : out_(out), is_alone_(is_alone) {}

  [[nodiscard]] GenerateSession::Show begin(const Prompt& first) {
    if (!is_alone_) return {};
    out_ << train::printable_text(first.text) << std::flush;
    return [this](const std::string& part) { out_ << train::printable_text(part) << std::flush; };
  }

  void end(const std::vector<GeneratedText>& texts) {
    for (const GeneratedText& each : texts) {
      if (!is_alone_) {
        out_ << fmt::format("==> {} <==\n", ++num_written_)
             << train::printable_text(each.prompt.text + each.text);
      }
      out_ << "\n" << std::flush;
    }
  }

 private:
  std::ostream& out_;
  bool is_alone_;
  std::size_t num_written_ = 0;
};

}  // namespace

void GenerateCommand::declare(OptionSet& options) {
  options.value("from", from_, "folder of the model, or of a run that has exported one");
  options.repeated("prompt", prompts_, "text to continue");
  options.value("prompts", prompts_file_, "file with a text to continue on each line");
  options.value("tokens", tokens_, "most tokens to add; 0: 128, or what fits", at_least(0));
  sampling_.declare(options);
  options.repeated("stop", stops_, "text before which a continuation ends");
  options.flag("ignore-eos", ignore_eos_, "go on where the model says that the text ends");
  options.value("batch", batch_, "texts that are continued together", between(1, 4096));
  options.value("tokenizer", tokenizer_, "in place of the one in the model's folder");
  options.value("device", device_, "where to compute");
  options.value("dtype", dtype_, "type to compute with; keep: that of the files");
  options.flag("json", json_, "print JSON");
}

struct GenerateCommand::Job {
  hub::ModelFolder folder;
  std::vector<Prompt> prompts;
  SessionOptions session;
};

GenerateCommand::Job GenerateCommand::prepare() const {
  if (from_.empty()) throw UsageError("--from is missing: the folder of a model");
  if (std::ranges::find(stops_, "") != stops_.end()) throw UsageError("--stop: the text is empty");
  std::vector<std::string> texts = prompts_;
  if (!prompts_file_.empty()) {
    std::ranges::copy(read_prompts(prompts_file_), std::back_inserter(texts));
  }
  if (texts.empty()) throw UsageError("--prompt is missing: a text to continue");
  hub::ModelFolder folder(hub::find_model_folder(from_));
  const auto config = hub::read_generation_config(folder.path());
  const auto tokenizer = tokenizer_of(folder.path(), tokenizer_);
  auto prompts = make_prompts(texts, *tokenizer, config.bos_token_id);
  const models::Shape& shape = folder.config().shape;
  check_vocabulary(prompts, shape.vocabulary);
  SessionOptions session{
      .tokenizer = tokenizer, .generate = sampling_.resolve(config), .stops = stops_};
  session.generate.max_new_tokens = tokens_within(tokens_, room_behind(prompts, shape.context));
  session.generate.vocabulary = std::min(tokenizer->vocabulary(), shape.vocabulary);
  if (!ignore_eos_) session.generate.stop = end_tokens(config, *tokenizer);
  return {std::move(folder), std::move(prompts), std::move(session)};
}

int GenerateCommand::generate(Job job, Console& console) const {
  const train::InterruptionWatch watch;
  const at::Device device = train::device_of({.device = device_});
  const c10::DeviceGuard on_device(device);
  const Clock::time_point begin = Clock::now();
  job.session.model = hub::load_model(job.folder, {.device = device, .dtype = dtype_});
  const Generator generator = describe(job.folder.path(), *job.session.model, Clock::now() - begin);
  job.session.should_stop = [&watch] { return watch.requested().has_value(); };
  GenerateSession session(std::move(job.session));
  TextWriter writer(console.out, job.prompts.size() == 1);
  std::vector<GeneratedText> all;
  for (std::span<const Prompt> left = job.prompts; !left.empty() && !watch.requested();) {
    const auto batch = left.first(std::min(static_cast<std::size_t>(batch_), left.size()));
    left = left.subspan(batch.size());
    const auto texts =
        session.run(batch, json_ ? GenerateSession::Show{} : writer.begin(batch.front()));
    if (!json_) writer.end(texts);
    all.insert(all.end(), texts.begin(), texts.end());
  }
  if (json_) console.out << json_page(generator, session.speed(), all);
  if (!json_) console.err << speed_page(generator, session.speed());
  return watch.requested() ? exit_code_of_signal(*watch.requested()) : 0;
}

int GenerateCommand::run(Console& console) { return generate(prepare(), console); }

}  // namespace sheaf::cli

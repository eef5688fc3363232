// Folders whose parts do not fit together: each is refused with one sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "hub/sample_models.h"
#include "sheaf/base/error.h"
#include "sheaf/hub/model_folder.h"
#include "support/temporary_folder.h"

namespace sheaf::hub {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

struct Case {
  std::string name;
  std::string kind;
  /// Spoils a good folder.
  std::function<void(const TemporaryFolder&)> spoil;
  std::string says;
};

std::ostream& operator<<(std::ostream& out, const Case& each) { return out << each.name; }

/// Replaces a text in the header by one that is as long.
std::function<void(const TemporaryFolder&)> in_header(std::string from, std::string to) {
  return [from = std::move(from), to = std::move(to)](const TemporaryFolder& folder) {
    std::string bytes = folder.read("model.safetensors");
    const auto place = bytes.find(from);
    if (place == std::string::npos || from.size() != to.size()) throw std::logic_error(from);
    folder.write("model.safetensors", bytes.replace(place, from.size(), to));
  };
}

std::function<void(const TemporaryFolder&)> in_config(std::string field, json value) {
  return [field = std::move(field), value = std::move(value)](const TemporaryFolder& folder) {
    json config = json::parse(folder.read("config.json"));
    config[field] = value;
    folder.write("config.json", config.dump());
  };
}

std::function<void(const TemporaryFolder&)> without(std::string file) {
  return [file = std::move(file)](const TemporaryFolder& folder) {
    fs::remove_all(folder.path(file));
  };
}

std::vector<Case> cases() {
  return {
      {"NoConfig", "gpt2", without("config.json"), "there is no file"},
      {"NoWeights", "gpt2", without("model.safetensors"), "has no weights"},
      {"NoFolder", "gpt2", without(""), "there is no folder"},
      {"ConfigIsDamaged",
       "gpt2",
       [](const TemporaryFolder& folder) { folder.write("config.json", "{"); },
       "config.json: not JSON"},
      {"WeightsAreCut",
       "gpt2",
       [](const TemporaryFolder& folder) {
         fs::resize_file(folder.path("model.safetensors"), 20'000);
       },
       "model.safetensors: a safetensors file that is cut short"},
      {"WeightsOfAnotherKind", "gpt2", in_config("model_type", "llama"), "num_hidden_layers"},
      {"OneWeightIsMissing",
       "gpt2",
       in_header("transformer.h.1.ln_1.bias", "transformer.h.1.ln_1.bean"),
       "the weights have no transformer.h.1.ln_1.bias"},
      {"EmbeddingIsMissing",
       "llama",
       in_header("model.embed_tokens.weight", "model.embed_tokens.height"),
       "the weights have no model.embed_tokens.weight"},
      {"HeadIsMissing",
       "llama",
       in_header("lm_head.weight", "lm_head.height"),
       "the weights have no lm_head.weight"},
      {"LayersAreMissing", "llama", in_config("num_hidden_layers", 4), "model.layers.3"},
      {"LayersAreTooMany",
       "llama",
       in_config("num_hidden_layers", 2),
       "the weights have 'model.layers.2."},
      {"NormIsMissing",
       "llama",
       in_header("model.norm.weight", "model.worm.weight"),
       "the weights have no model.norm.weight"},
      {"WidthDiffers", "smollm3", in_config("hidden_size", 50), "by config.json, got [101, 48]"},
      {"VocabularyDiffers", "smollm3", in_config("vocab_size", 102), "[102, 48]"},
      {"PositionsDiffer", "gpt2", in_config("n_positions", 20), "wpe.weight must have the shape"},
      {"HeadsDiffer", "llama", in_config("head_dim", 12), "must have the shape"},
      {"WeightsAreIntegers",
       "gpt2",
       in_header(R"("F32")", R"("I32")"),
       "sheaf reads no quantised models"},
  };
}

class MalformedFolder : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, MalformedFolder, ::testing::ValuesIn(cases()), [](const auto& info) {
  return info.param.name;
});

TEST_P(MalformedFolder, IsRefusedInOneSentence) {
  const TemporaryFolder folder;
  testing::write_sample(folder.path(), testing::odd_shape(GetParam().kind));
  GetParam().spoil(folder);
  try {
    const ModelFolder model(folder.path());
    ADD_FAILURE() << "nothing was thrown";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr(GetParam().says));
    EXPECT_THAT(error.what(), HasSubstr(folder.path()));
    EXPECT_THAT(error.what(), ::testing::Not(HasSubstr("\n")));
  }
}

}  // namespace
}  // namespace sheaf::hub

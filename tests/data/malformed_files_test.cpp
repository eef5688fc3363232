// Options and files that cannot be: each is refused with a sentence that says what and where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <limits>

#include "data/scratch.h"
#include "sheaf/base/error.h"
#include "sheaf/data/options.h"
#include "sheaf/data/token_file.h"

namespace sheaf::data {
namespace {

using testing::big;
using testing::gzipped;
using testing::idx_images;
using testing::idx_labels;
using testing::little;
using testing::read_bytes;
using testing::Scratch;

constexpr std::int64_t kContext = 8;

struct Case {
  std::string name;
  /// Spoils what is in the folder (good digits and a good a.tok) and returns what to open.
  std::function<DataOptions(const Scratch&)> spoil;
  std::vector<std::string> words;
  DataRequest request = {.context = kContext};
};

std::ostream& operator<<(std::ostream& out, const Case& each) { return out << each.name; }

DataOptions tokens_at(const std::string& path) {
  return {.source = Source::tokens, .path = path, .evaluation_part = 0};
}

/// A token file with some bytes replaced, or added at its end.
Case tokens(std::string name, std::size_t at, std::string bytes, std::vector<std::string> words) {
  words.insert(words.end(), {"data.path: ", "a.tok"});
  return {std::move(name),
          [=](const Scratch& scratch) {
            auto file = read_bytes(scratch.path("a.tok"));
            file.replace(at, bytes.size(), bytes);
            return tokens_at(scratch.write("a.tok", file));
          },
          std::move(words)};
}

Case cut_tokens(std::size_t size, std::vector<std::string> words) {
  words.insert(words.end(), {"data.path: ", "a.tok", "got " + std::to_string(size)});
  return {
      "TokensCutAt" + std::to_string(size),
      [=](const Scratch& scratch) {
        return tokens_at(scratch.write("a.tok", read_bytes(scratch.path("a.tok")).substr(0, size)));
      },
      std::move(words)};
}

Case path_of_tokens(std::string name, std::string path, std::vector<std::string> words) {
  return {std::move(name),
          [=](const Scratch& scratch) { return tokens_at(scratch.path(path)); },
          std::move(words)};
}

/// Digits with one file replaced.
Case digits(std::string name, std::string file, std::string bytes, std::vector<std::string> words) {
  words.insert(words.end(), {"data.path: ", file});
  return {std::move(name),
          [=](const Scratch& scratch) {
            scratch.write(file, bytes);
            return DataOptions{.source = Source::mnist, .path = scratch.path()};
          },
          std::move(words)};
}

Case cut_images(std::size_t size, std::vector<std::string> words) {
  return digits("ImagesCutAt" + std::to_string(size),
                "train-images-idx3-ubyte",
                idx_images(12).substr(0, size),
                std::move(words));
}

Case cut_labels(std::size_t size, std::vector<std::string> words) {
  return digits("LabelsCutAt" + std::to_string(size),
                "t10k-labels-idx1-ubyte",
                idx_labels(10).substr(0, size),
                std::move(words));
}

Case options(std::string name,
             const DataOptions& asked,
             std::vector<std::string> words,
             const DataRequest& request = {.context = kContext}) {
  return {std::move(name), [=](const Scratch&) { return asked; }, std::move(words), request};
}

// 20 tokens of 2 bytes in 2 documents: 64 + 40 + 16 bytes.
std::vector<Case> token_cases() {
  return {
      cut_tokens(0, {"too short", "at least 64 bytes"}),
      cut_tokens(1, {"too short"}),
      cut_tokens(8, {"too short"}),
      cut_tokens(12, {"too short"}),
      cut_tokens(16, {"too short"}),
      cut_tokens(24, {"too short"}),
      cut_tokens(32, {"too short"}),
      cut_tokens(40, {"too short"}),
      cut_tokens(48, {"too short"}),
      cut_tokens(63, {"too short"}),
      cut_tokens(64, {"is truncated", "expected 120 bytes"}),
      cut_tokens(65, {"is truncated"}),
      cut_tokens(104, {"is truncated"}),
      cut_tokens(119, {"is truncated", "expected 120 bytes"}),
      tokens("TokensTooLong", 120, "x", {"more than its header says", "120", "121"}),
      tokens("TokensMagic", 0, "sheaftok", {"is not a token file"}),
      tokens("TokensAreGzip", 0, "\x1f\x8b", {"is not a token file"}),
      tokens("TokensVersionNewer", 8, little(2, 4), {"version 2", "too new", "up to 1"}),
      tokens("TokensVersionZero", 8, little(0, 4), {"header", "damaged", "version 0"}),
      tokens("TokensWidthThree", 12, little(3, 4), {"damaged", "bytes per token 3"}),
      tokens("TokensWidthFour", 12, little(4, 4), {"is truncated", "expected 160"}),
      tokens("TokensCountLess", 16, little(19, 8), {"is damaged", "checksum"}),
      tokens("TokensCountMore", 16, little(21, 8), {"is truncated", "expected 128 bytes, got 120"}),
      tokens("TokensCountHuge", 16, little(~0ULL, 8), {"damaged", "number of tokens 1844674"}),
      tokens("TokensCountOverflow", 16, little(1ULL << 63, 8), {"damaged", "number of tokens"}),
      tokens("TokensNoVocabulary", 24, little(0, 8), {"damaged", "vocabulary 0"}),
      tokens("TokensLargeVocabulary", 24, little(65'537, 8), {"damaged", "vocabulary 65537"}),
      tokens("TokensDocumentsLess", 40, little(1, 8), {"more than its header says"}),
      tokens("TokensDocumentsHuge", 40, little(1ULL << 61, 8), {"number of documents"}),
      path_of_tokens("TokensNotThere", "no.tok", {"data.path: there is no file", "no.tok"}),
      path_of_tokens("TokensInNoFolder", "a.tok/b.tok", {"there is no file", "b.tok"}),
      {"TokensAreAnEmptyFolder",
       [](const Scratch& scratch) {
         std::filesystem::create_directory(scratch.path("none"));
         return tokens_at(scratch.path("none"));
       },
       {"data.path: ", "no token files"}},
      path_of_tokens(
          "TokensNameTooLong", std::string(300, 'x'), {"cannot open a file", "too long"}),
      {"TokensBeyondVocabulary",
       [](const Scratch& scratch) {
         auto file = read_bytes(scratch.path("a.tok"));
         file.replace(64 + 2 * 5, 2, little(300, 2));
         return tokens_at(scratch.write("a.tok", file));
       },
       {"token 5", "vocabulary of 300, got 300", "a.tok"}},
      {"TokensWithDocumentsInDisorder",
       [](const Scratch& scratch) {
         auto file = read_bytes(scratch.path("a.tok"));
         file.replace(64 + 2 * 20, 16, little(5, 8) + little(3, 8));
         DataOptions options = tokens_at(scratch.write("a.tok", file));
         options.boundaries = true;
         return options;
       },
       {"do not follow one another", "a.tok"}},
      {"TokensWithoutDocuments",
       [](const Scratch& scratch) {
         auto file = read_bytes(scratch.path("a.tok")).substr(0, 64 + 2 * 20);
         DataOptions options = tokens_at(scratch.write("a.tok", file.replace(40, 8, little(0, 8))));
         options.boundaries = true;
         return options;
       },
       {"data.boundaries needs documents", "sheaf data pack", "a.tok"}},
      {"TokensInALoop",
       [](const Scratch& scratch) {
         std::filesystem::create_symlink("loop", scratch.path("loop"));
         return tokens_at(scratch.path("loop"));
       },
       {"cannot open a file", "loop"}},
      options("TokensAreADevice", tokens_at("/dev/null"), {"a file on a disk", "/dev/null"}),
      options("TokensWithoutPath", tokens_at(""), {"data.path is empty", "tokens", "token file"}),
  };
}

std::vector<Case> digit_cases() {
  const std::string images = "train-images-idx3-ubyte";
  const std::string labels = "train-labels-idx1-ubyte";
  auto label_ten = idx_labels(12);
  label_ten.back() = 10;
  auto packed = gzipped(idx_images(12));
  auto damaged = packed;
  damaged[damaged.size() - 6] ^= 1;
  return {
      cut_images(0, {"too short", "at least 16 bytes, got 0"}),
      cut_images(3, {"too short"}),
      cut_images(4, {"too short"}),
      cut_images(8, {"too short"}),
      cut_images(12, {"too short"}),
      cut_images(15, {"too short"}),
      cut_images(16, {"is truncated", "expected 9424 bytes, got 16"}),
      cut_images(9423, {"is truncated", "got 9423"}),
      cut_labels(0, {"too short", "at least 8 bytes, got 0"}),
      cut_labels(7, {"too short"}),
      cut_labels(8, {"is truncated", "expected 18 bytes, got 8"}),
      digits("ImagesTooLong", images, idx_images(12) + "x", {"more than its header", "got 9425"}),
      digits("ImagesMagic", images, "PNG!" + idx_images(12), {"IDX file", "got 0x504e4721"}),
      digits("ImagesAreLabels", images, idx_labels(60), {"in 3 dimensions", "0x00000801"}),
      digits("LabelsAreImages", labels, idx_images(1), {"in 1 dimensions", "0x00000803"}),
      digits("ImagesSmaller", images, idx_images(12, 20), {"28 by 28", "got 20 by 20"}),
      digits("ImagesNone", images, big(0x803) + big(0) + big(28) + big(28), {"is empty"}),
      digits("ImagesHuge",
             images,
             big(0x803) + big(~0U) + big(~0U) + big(~0U),
             {"is truncated", "got 16"}),
      digits("ImagesFewer", images, idx_images(11), {"11 images have 12 labels"}),
      digits("LabelsFewer", labels, idx_labels(11), {"12 images have 11 labels"}),
      digits("LabelTen", labels, label_ten, {"label 11 must be from 0 to 9, got 10"}),
      digits("GzipCut", images, packed.substr(0, packed.size() / 2), {"gzip file ends too early"}),
      digits("GzipDamaged", images, damaged, {"gzip file is damaged"}),
      digits("GzipMore", images, packed + "x", {"gzip file"}),
      digits("GzipOnlyMagic", images, "\x1f\x8b", {"gzip file ends too early"}),
      {"FileMissing",
       [](const Scratch& scratch) {
         std::filesystem::remove(scratch.path("t10k-images-idx3-ubyte"));
         return DataOptions{.source = Source::mnist, .path = scratch.path()};
       },
       {"data.path: ", "no file t10k-images-idx3-ubyte", "./dev data mnist"}},
      {"FolderInsteadOfFile",
       [=](const Scratch& scratch) {
         std::filesystem::remove(scratch.path(images));
         std::filesystem::create_directory(scratch.path(images));
         return DataOptions{.source = Source::mnist, .path = scratch.path()};
       },
       {"expected a file, got a folder", images}},
      {"FileInsteadOfFolder",
       [=](const Scratch& scratch) {
         return DataOptions{.source = Source::mnist, .path = scratch.path(images)};
       },
       {"data.path: ", "no such folder", "./dev data mnist"}},
      options("DigitsWithoutPath",
              {.source = Source::mnist},
              {"data.path is empty", "mnist", "./dev data mnist"}),
  };
}

std::vector<Case> option_cases() {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const DataOptions random{.source = Source::random};
  return {
      options("NoContext", {}, {"context of at least 1", "got 0"}, {.context = 0}),
      options("NegativeContext", {}, {"context", "got -1"}, {.context = -1}),
      options("TextTooShort", {}, {"1115394 tokens are too few"}, {.context = 1'115'394}),
      options("TextTooShortForTwo", {}, {"training and evaluation"}, {.context = 600'000}),
      options("StoriesTooShort",
              {.source = Source::stories, .size = 8, .evaluation_part = 0},
              {"8 tokens are too few for one sample of 9"}),
      options("SizeZero", {.source = Source::stories, .size = 0}, {"data.size", "got 0"}),
      options("SizeNegative", {.source = Source::random, .size = -5}, {"data.size", "got -5"}),
      options("StoriesHuge",
              {.source = Source::stories, .size = std::int64_t{1} << 40},
              {"data.size of stories", "at most 17179869184"}),
      options("RandomWithoutVocabulary", random, {"data.source random", "vocabulary", "got 0"}),
      options("RandomWithNegativeVocabulary",
              random,
              {"vocabulary", "got -3"},
              {.context = kContext, .vocabulary = -3}),
      options("RandomWithHugeVocabulary",
              random,
              {"vocabulary", "between 1 and 2147483647"},
              {.context = kContext, .vocabulary = std::int64_t{1} << 31}),
      options("ModelTooSmall",
              {},
              {"vocabulary of 256", "more than the model's 100"},
              {.context = kContext, .vocabulary = 100}),
      options("PartNegative", {.evaluation_part = -0.1}, {"data.evaluation_part", "got -0.1"}),
      options("PartTooLarge", {.evaluation_part = 0.95}, {"data.evaluation_part", "got 0.95"}),
      options("PartIsNoNumber", {.evaluation_part = kNaN}, {"data.evaluation_part", "got nan"}),
  };
}

class MalformedData : public ::testing::TestWithParam<Case> {};
const auto kName = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Tokens, MalformedData, ::testing::ValuesIn(token_cases()), kName);
INSTANTIATE_TEST_SUITE_P(Digits, MalformedData, ::testing::ValuesIn(digit_cases()), kName);
INSTANTIATE_TEST_SUITE_P(Options, MalformedData, ::testing::ValuesIn(option_cases()), kName);

void write_tokens(const std::string& path) {
  TokenFileWriter writer(path, {.vocabulary = 300});
  writer.add_document(std::vector<std::int64_t>(12, 7));
  writer.add_document(std::vector<std::int64_t>(8, 299));
  writer.finish();
}

/// Opens and reads everything; a token file also by its checksum.
void use(const DataOptions& asked, const DataRequest& request) {
  const Data data = open(asked, request);
  for (std::int64_t i = 0; i < data.training->size(); ++i) {
    data.training->fill(i, 0, data.training->make_batch(1));
  }
  if (asked.source != Source::tokens) return;
  try {
    TokenFile(asked.path).verify();
  } catch (const Error& error) {
    std::rethrow_exception(error.with_prefix("data.path: "));
  }
}

TEST_P(MalformedData, IsRefusedInOneSentence) {
  const Scratch scratch;
  testing::write_digits(scratch);
  write_tokens(scratch.path("a.tok"));
  try {
    use(GetParam().spoil(scratch), GetParam().request);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    const bool refused_by_system =
        std::string_view(error.what()).find("cannot open") != std::string_view::npos;
    EXPECT_EQ(dynamic_cast<const IoError*>(&error) != nullptr, refused_by_system);
    EXPECT_EQ(dynamic_cast<const UsageError*>(&error) != nullptr, !refused_by_system);
    for (const auto& word : GetParam().words) EXPECT_THAT(error.what(), ::testing::HasSubstr(word));
    EXPECT_THAT(error.what(), ::testing::Not(::testing::HasSubstr("\n")));
  }
}

TEST(GoodData, IsNotRefusedByWhatTheseTestsDo) {
  const Scratch scratch;
  testing::write_digits(scratch);
  write_tokens(scratch.path("a.tok"));
  use(tokens_at(scratch.path("a.tok")), {.context = kContext});
  use({.source = Source::mnist, .path = scratch.path()}, {});
}

}  // namespace
}  // namespace sheaf::data

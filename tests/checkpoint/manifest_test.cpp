#include "sheaf/checkpoint/manifest.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "sheaf/checkpoint/damaged.h"
#include "support/on_ranks.h"

namespace sheaf::checkpoint {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

Manifest small_manifest() {
  return {.step = 12,
          .ranks = 3,
          .mesh = {{"shard", 3}},
          .run = R"({"scale":0.1})",
          .files = {{.name = "config.json", .size = 2, .hashed = 2, .hash = 7},
                    {.name = "model.safetensors", .size = 160, .hashed = 80, .hash = ~0ULL}},
          .tensors = {{.tensor = {"a", at::kFloat, {4, 5}},
                       .file = "model.safetensors",
                       .offset = 80,
                       .pieces = {{0, 8, 1}, {8, 12, 2}}}}};
}

/// Returns the text with a new checksum, after `change` has been at its JSON.
std::string changed(const std::function<void(nlohmann::json&)>& change) {
  auto json = nlohmann::json::parse(format_manifest(small_manifest()));
  json.erase("checksum");
  change(json);
  std::string body = json.dump();
  body.pop_back();
  return fmt::format(
      "{},\n\"checksum\":\"{:016x}\"}}\n", body, checksum_of(std::string_view(body)));
}

std::string error_of_change(const std::function<void(nlohmann::json&)>& change) {
  return error_of([&] { static_cast<void>(parse_manifest(changed(change))); });
}

TEST(Manifest, ComesBackAsItWas) {
  const Manifest manifest = parse_manifest(format_manifest(small_manifest()));
  EXPECT_EQ(manifest.step, 12);
  EXPECT_EQ(manifest.ranks, 3);
  EXPECT_EQ(manifest.mesh[0].name, "shard");
  EXPECT_EQ(manifest.run, R"({"scale":0.1})");
  EXPECT_EQ(manifest.files[1].hash, ~0ULL);
  EXPECT_EQ(manifest.tensors[0].offset, 80U);
  EXPECT_EQ(manifest.tensors[0].pieces, small_manifest().tensors[0].pieces);
  EXPECT_EQ(manifest.bytes(), 162U);
}

TEST(Manifest, IsJson) {
  const auto json = nlohmann::json::parse(format_manifest(small_manifest()));
  EXPECT_EQ(json["format"], "sheaf checkpoint");
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["tensors"][0]["dtype"], "F32");
  EXPECT_EQ(json["tensors"][0]["pieces"][1], nlohmann::json::parse(R"([8,12,"0000000000000002"])"));
}

TEST(Manifest, NoticesEveryChangedByte) {
  const std::string text = format_manifest(small_manifest());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_THROW(static_cast<void>(parse_manifest(other)), Damaged) << "byte " << i;
    EXPECT_THROW(static_cast<void>(parse_manifest(text.substr(0, i))), Damaged) << "cut at " << i;
  }
}

TEST(Manifest, OfAnotherVersionSaysWhatToDo) {
  const std::string text = changed([](auto& json) { json["version"] = 2; });
  EXPECT_THROW(static_cast<void>(parse_manifest(text)), UnknownVersion);
  EXPECT_THAT(error_of([&] { static_cast<void>(parse_manifest(text)); }),
              HasSubstr("version 2, and this sheaf reads version 1"));
}

TEST(Manifest, RefusesWhatDoesNotFitTogether) {
  EXPECT_THAT(error_of_change([](auto& json) { json["format"] = "other"; }),
              HasSubstr("not the manifest"));
  EXPECT_THAT(error_of_change([](auto& json) { json.erase("step"); }), HasSubstr("missing"));
  EXPECT_THAT(error_of_change([](auto& json) { json["step"] = -1; }), HasSubstr("step"));
  EXPECT_THAT(error_of_change([](auto& json) { json["files"][0]["name"] = "../a"; }),
              HasSubstr("plain name"));
  EXPECT_THAT(error_of_change([](auto& json) { json["files"][0]["name"] = "model.safetensors"; }),
              HasSubstr("twice"));
  EXPECT_THAT(error_of_change([](auto& json) { json["tensors"].push_back(json["tensors"][0]); }),
              HasSubstr("the tensor 'a' is there twice"));
  EXPECT_THAT(error_of_change([](auto& json) { json["files"][0]["hashed"] = 3; }),
              HasSubstr("config.json has 2 bytes"));
}

TEST(Manifest, RefusesTensorsThatAreNotWhole) {
  const auto of_tensor = [](const std::function<void(nlohmann::json&)>& change) {
    return error_of_change([&](auto& json) { change(json["tensors"][0]); });
  };
  EXPECT_THAT(of_tensor([](auto& tensor) { tensor["pieces"].erase(1); }),
              HasSubstr("its pieces have 8"));
  EXPECT_THAT(of_tensor([](auto& tensor) { tensor["pieces"][1][0] = 9; }),
              HasSubstr("do not follow one another"));
  EXPECT_THAT(of_tensor([](auto& tensor) { tensor["pieces"][1][1] = 13; }),
              HasSubstr("do not follow one another"));
  EXPECT_THAT(of_tensor([](auto& tensor) { tensor["offset"] = 81; }), HasSubstr("does not lie in"));
  EXPECT_THAT(of_tensor([](auto& tensor) { tensor["file"] = "none"; }),
              HasSubstr("does not lie in"));
  EXPECT_THAT(of_tensor([](auto& tensor) { tensor["dtype"] = "F33"; }), HasSubstr("F33"));
  EXPECT_THAT(of_tensor([](auto& tensor) {
                tensor["shape"] = {1LL << 40, 1LL << 40};
              }),
              HasSubstr("a shape that no tensor has"));
}

TEST(Manifest, RefusesPiecesThatAreTooLarge) {
  Manifest manifest = small_manifest();
  const std::int64_t most = kPieceBytes / 4;
  const auto with_piece_of = [&](std::int64_t count) {
    manifest.files[1].size = 80 + static_cast<std::uint64_t>(4 * count);
    manifest.tensors[0].tensor.shape = {count};
    manifest.tensors[0].pieces = {{0, count, 1}};
    return format_manifest(manifest);
  };
  EXPECT_EQ(parse_manifest(with_piece_of(most)).tensors.size(), 1U);
  EXPECT_THAT(error_of([&] { static_cast<void>(parse_manifest(with_piece_of(most + 1))); }),
              HasSubstr("a piece of 1048577 elements"));
}

}  // namespace
}  // namespace sheaf::checkpoint

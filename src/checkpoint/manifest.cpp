#include "sheaf/checkpoint/manifest.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/checksum.h"
#include "base/quoting.h"
#include "checkpoint/dtypes.h"
#include "checkpoint/json_object.h"
#include "sheaf/base/version.h"
#include "sheaf/checkpoint/damaged.h"

// Note [A manifest's checksum]
// The text ends with ,\n"checksum":"0123456789abcdef"}\n and these digits are the XXH3 of all bytes
// in front of that comma. So one look at the end says whether the rest can be believed.

namespace sheaf::checkpoint {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "sheaf checkpoint";
constexpr std::string_view kEnding = ",\n\"checksum\":\"";
constexpr std::string_view kClosing = "\"}\n";
constexpr std::size_t kDigits = 16;
// Keeps products and sums of what a manifest says within 64 bits.
constexpr std::uint64_t kMost = std::uint64_t{1} << 56;

std::string hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::uint64_t from_hex(const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  if (text.size() != kDigits || stop != end || error != std::errc()) {
    throw Damaged(fmt::format("a hash must have {} hexadecimal digits, got {}", kDigits, text));
  }
  return value;
}

Json json_of(const SavedTensor& tensor) {
  Json pieces = Json::array();
  for (const Piece& piece : tensor.pieces) {
    pieces.push_back({piece.begin, piece.count, hex(piece.hash)});
  }
  return {{"name", tensor.tensor.name},
          {"file", tensor.file},
          {"offset", tensor.offset},
          {"dtype", dtype_name(tensor.tensor.dtype)},
          {"shape", tensor.tensor.shape},
          {"pieces", pieces}};
}

Json json_of(const SavedFile& file) {
  return {
      {"name", file.name}, {"size", file.size}, {"hashed", file.hashed}, {"xxh3", hex(file.hash)}};
}

template <class Item>
void add_list(std::string& text, std::string_view name, const std::vector<Item>& items) {
  text += fmt::format(",\n\"{}\":[", name);
  for (std::size_t i = 0; i < items.size(); ++i) {
    text += (i == 0 ? "\n" : ",\n") + json_of(items[i]).dump();
  }
  text += "]";
}

/// Returns the text in front of the checksum, which has been compared.
std::string_view checked_body(std::string_view text) {
  const std::size_t ending = kEnding.size() + kDigits + kClosing.size();
  const bool is_whole = text.size() > ending && text.ends_with(kClosing) &&
                        text.substr(text.size() - ending).starts_with(kEnding);
  if (!is_whole) throw Damaged("the file does not end with its checksum: it is cut short");
  const std::string_view body = text.substr(0, text.size() - ending);
  const std::string digits(text.substr(body.size() + kEnding.size(), kDigits));
  if (from_hex(digits) != checksum_of(body)) {
    throw Damaged(
        fmt::format("its bytes have the checksum {}, it says {}", hex(checksum_of(body)), digits));
  }
  return body;
}

void check_version(const nlohmann::json& json) {
  if (!json.contains("format") || json["format"] != kFormat) {
    throw Damaged(fmt::format("not the manifest of a {}", kFormat));
  }
  const auto version = json.at("version").get<std::int64_t>();
  if (version == kManifestVersion) return;
  throw UnknownVersion(
      fmt::format("a checkpoint of version {}, and this sheaf reads version {}; take the sheaf "
                  "that wrote it",
                  version,
                  kManifestVersion));
}

std::uint64_t number_at(const nlohmann::json& json, const char* key) {
  const nlohmann::json& value = json.at(key);
  if (value.is_number_unsigned() && value.get<std::uint64_t>() < kMost) {
    return value.get<std::uint64_t>();
  }
  throw Damaged(fmt::format("{} must be a number from 0 on, got {}", key, in_words(value)));
}

std::string file_name_at(const nlohmann::json& json, const char* key) {
  auto name = json.at(key).get<std::string>();
  const bool plain = !name.empty() && name.front() != '.' && name != kManifestName &&
                     name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
  if (plain) return name;
  throw Damaged(fmt::format("a file must have a plain name, got {}", in_quotes(name)));
}

SavedFile file_of(const nlohmann::json& json) {
  SavedFile file{.name = file_name_at(json, "name"),
                 .size = number_at(json, "size"),
                 .hashed = number_at(json, "hashed"),
                 .hash = from_hex(json.at("xxh3").get<std::string>())};
  if (file.hashed <= file.size) return file;
  throw Damaged(fmt::format(
      "{} has {} bytes, so not {} of them can be hashed", file.name, file.size, file.hashed));
}

void check_size(const Piece& piece, const TensorSpec& tensor) {
  if (piece.count <= kPieceBytes / dtype_size(tensor.dtype)) return;
  throw Damaged(fmt::format("{} has a piece of {} elements, more than the {} bytes of any piece",
                            in_quotes(tensor.name),
                            piece.count,
                            kPieceBytes));
}

/// The pieces must be the tensor: in order, no gap, nothing twice.
std::vector<Piece> pieces_of(const nlohmann::json& json, const TensorSpec& tensor) {
  std::vector<Piece> pieces;
  std::int64_t end = 0;
  for (const nlohmann::json& each : json.at("pieces")) {
    Piece piece{.begin = each.at(0).get<std::int64_t>(),
                .count = each.at(1).get<std::int64_t>(),
                .hash = from_hex(each.at(2).get<std::string>())};
    if (piece.begin != end || piece.count <= 0 || piece.count > tensor.numel() - end) {
      throw Damaged(
          fmt::format("the pieces of {} do not follow one another: {} elements from {} "
                      "on, after {} of {}",
                      in_quotes(tensor.name),
                      piece.count,
                      piece.begin,
                      end,
                      tensor.numel()));
    }
    check_size(piece, tensor);
    end += piece.count;
    pieces.push_back(piece);
  }
  if (end == tensor.numel()) return pieces;
  throw Damaged(fmt::format(
      "{} has {} elements, its pieces have {}", in_quotes(tensor.name), tensor.numel(), end));
}

void check_shape(const TensorSpec& tensor) {
  std::uint64_t bytes = static_cast<std::uint64_t>(dtype_size(tensor.dtype));
  for (const std::int64_t size : tensor.shape) {
    const bool fits =
        size >= 0 && !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes);
    if (fits && bytes < kMost) continue;
    throw Damaged(fmt::format("{} has a shape that no tensor has", in_quotes(tensor.name)));
  }
}

SavedTensor tensor_of(const nlohmann::json& json, const std::map<std::string, SavedFile>& files) {
  SavedTensor saved{.tensor = {.name = json.at("name").get<std::string>(),
                               .dtype = dtype_of(json.at("dtype").get<std::string>()),
                               .shape = json.at("shape").get<std::vector<std::int64_t>>()},
                    .file = file_name_at(json, "file"),
                    .offset = number_at(json, "offset"),
                    .pieces = {}};
  check_shape(saved.tensor);
  const auto bytes =
      static_cast<std::uint64_t>(saved.tensor.numel() * dtype_size(saved.tensor.dtype));
  const auto file = files.find(saved.file);
  if (file == files.end() || saved.offset < file->second.hashed ||
      saved.offset + bytes > file->second.size) {
    throw Damaged(fmt::format(
        "{} does not lie in {} as it says", in_quotes(saved.tensor.name), in_quotes(saved.file)));
  }
  saved.pieces = pieces_of(json, saved.tensor);
  return saved;
}

Manifest manifest_of(const nlohmann::json& json) {
  check_version(json);
  Manifest manifest{.step = static_cast<std::int64_t>(number_at(json, "step")),
                    .ranks = static_cast<int>(number_at(json, "ranks")),
                    .mesh = {},
                    .run = json.at("run").dump(),
                    .files = {},
                    .tensors = {}};
  for (const auto& axis : json.at("mesh")) {
    manifest.mesh.push_back({axis.at(0).get<std::string>(), axis.at(1).get<int>()});
  }
  std::map<std::string, SavedFile> files;
  for (const auto& each : json.at("files")) {
    manifest.files.push_back(file_of(each));
    if (files.emplace(manifest.files.back().name, manifest.files.back()).second) continue;
    throw Damaged(fmt::format("the file {} is there twice", in_quotes(manifest.files.back().name)));
  }
  std::set<std::string> names;
  for (const auto& each : json.at("tensors")) {
    manifest.tensors.push_back(tensor_of(each, files));
    const std::string& name = manifest.tensors.back().tensor.name;
    if (!names.insert(name).second) {
      throw Damaged(fmt::format("the tensor {} is there twice", in_quotes(name)));
    }
  }
  return manifest;
}

}  // namespace

std::uint64_t Manifest::bytes() const {
  std::uint64_t sum = 0;
  for (const SavedFile& file : files) sum += file.size;
  return sum;
}

std::string format_manifest(const Manifest& manifest) {
  Json mesh = Json::array();
  for (const auto& [axis, size] : manifest.mesh) mesh.push_back({axis, size});
  const Json head = {{"format", kFormat},
                     {"version", kManifestVersion},
                     {"sheaf", version()},
                     {"step", manifest.step},
                     {"ranks", manifest.ranks},
                     {"mesh", mesh}};
  std::string text = head.dump();
  text.pop_back();
  text += ",\n\"run\":" + manifest.run;
  add_list(text, "files", manifest.files);
  add_list(text, "tensors", manifest.tensors);
  const std::string checksum = hex(checksum_of(std::string_view(text)));
  return fmt::format("{}{}{}{}", text, kEnding, checksum, kClosing);
}

Manifest parse_manifest(std::string_view text) {
  const std::string_view body = checked_body(text);
  try {
    return manifest_of(parse_object(std::string(body) + "}"));
  } catch (const Damaged&) {
    throw;
  } catch (const UnknownVersion&) {
    throw;
  } catch (const Error& error) {
    throw Damaged(error.what());
  } catch (const nlohmann::json::exception&) {
    throw Damaged("a member is missing or of another kind than a manifest has");
  }
}

}  // namespace sheaf::checkpoint

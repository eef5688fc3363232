#include "checkpoint/json_object.h"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "base/mapped_file.h"
#include "base/quoting.h"
#include "sheaf/base/error.h"

namespace sheaf::checkpoint {
namespace {

using nlohmann::json;

constexpr std::size_t kDeepest = 64;
// Far above any: an index of a hundred thousand tensors has about 10 MB.
constexpr std::size_t kLargestText = std::size_t{256} << 20;
constexpr std::size_t kLongestValue = 60;

/// Looks at what is read, and throws.
class Watch {
 public:
  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (level > kDeepest) {
      throw UsageError(fmt::format("lists and objects may be at most {} deep", kDeepest));
    }
    if (names_.size() <= level + 1) names_.resize(level + 2);
    if (event == json::parse_event_t::object_start) names_[level + 1].clear();
    if (event != json::parse_event_t::key) return true;
    const auto name = parsed.get<std::string>();
    if (!names_[level].insert(name).second) {
      throw UsageError(fmt::format("the name {} is there twice", in_quotes(name)));
    }
    return true;
  }

 private:
  /// Names of the objects around, by depth.
  std::vector<std::set<std::string>> names_;
};

json parse(std::string_view text) {
  // The parser would take a zero for the end of the text.
  if (const auto zero = text.find('\0'); zero != std::string_view::npos) {
    throw UsageError(fmt::format("not JSON from byte {} on", zero + 1));
  }
  try {
    Watch watch;
    return json::parse(text.begin(), text.end(), std::ref(watch));
  } catch (const json::parse_error& error) {
    throw UsageError(fmt::format("not JSON from byte {} on", error.byte));
  } catch (const json::exception&) {
    throw UsageError("not JSON: a number is too large");
  }
}

}  // namespace

json parse_object(std::string_view text) {
  json value = parse(text);
  if (value.is_object()) return value;
  throw UsageError(fmt::format("must be an object, got {}", in_words(value)));
}

std::string read_text(const std::string& path) {
  const MappedFile file(path);
  if (file.bytes().size() > kLargestText) {
    throw UsageError(fmt::format("a file of this kind has at most {} bytes, {} has {}",
                                 kLargestText,
                                 path,
                                 file.bytes().size()));
  }
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

std::string in_words(const json& value) {
  if (value.is_object()) return "an object";
  std::string text = value.dump();
  if (text.size() <= kLongestValue) return text;
  return value.is_array() ? "a long list" : "a long text";
}

}  // namespace sheaf::checkpoint

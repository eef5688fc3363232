// Reads every file of include/sheaf and src: arrows between folders never point up, and the rules
// for headers and sizes hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Folders = std::set<std::string>;

// The table of the design: what each folder may use besides itself.
std::map<std::string, Folders> arrows() {
  const Folders strategy{"base", "layout", "comm", "memory", "module"};
  std::map<std::string, Folders> table{
      {"base", {}},
      {"layout", {"base"}},
      {"comm", {"base", "layout"}},
      {"memory", {"base"}},
      {"module", {"base"}},
      {"optim", {"base"}},
      {"sharding", {"base", "layout", "comm", "memory", "module", "optim"}},
      {"tensor_parallel", strategy},
      {"pipeline", strategy},
      {"context_parallel", strategy},
      {"recompute", strategy},
      {"offload", strategy},
      {"nn", {"base", "module"}},
      {"models", {"base", "module", "nn"}},
      {"data", {"base", "comm"}},
      {"checkpoint", {"base", "layout", "comm"}},
      {"hub", {"base", "comm", "checkpoint", "module", "models"}},
      {"plan", {"base", "layout"}},
      {"profile", {"base", "memory"}},
  };
  Folders below;
  for (const auto& [folder, used] : table) below.insert(folder);
  table["train"] = below;
  table["launch"] = below;
  below.insert({"train", "launch"});
  table["study"] = below;
  below.insert("study");
  table["cli"] = below;
  return table;
}

const std::map<std::string, Folders> kArrows = arrows();
const Folders kFoldersWithoutTorch{"base", "layout", "plan"};
constexpr std::array<std::string_view, 4> kTorch{"ATen/", "c10/", "torch/", "caffe2/"};
constexpr std::array<std::string_view, 3> kDevices{"cuda", "nccl", "gloo/"};
constexpr std::size_t kMaxHeaderLines = 200;
constexpr std::size_t kMaxSourceLines = 500;

// One file of ours; `path` is relative to the repository, such as src/comm/group.cpp.
struct Source {
  std::string path;
  std::vector<std::string> lines;

  [[nodiscard]] bool is_public() const { return path.starts_with("include/"); }
  [[nodiscard]] bool is_header() const { return path.ends_with(".h") || path.ends_with(".cuh"); }
  // Where includes of other folders start from: include/sheaf/ or src/.
  [[nodiscard]] std::string root() const { return is_public() ? "include/sheaf" : "src"; }
};

struct Directive {
  std::size_t line = 0;
  std::string name;
  std::string rest;
};

struct Include {
  std::size_t line = 0;
  bool quoted = false;
  std::string target;
};

using Findings = std::vector<std::string>;
using Rule = std::function<Findings(const Source&)>;

std::string finding(const Source& source, std::size_t line, const std::string& rule) {
  return source.path + ":" + std::to_string(line) + ": " + rule;
}

std::string trimmed(const std::string& text) {
  constexpr const char* kBlank = " \t\r";
  const auto begin = text.find_first_not_of(kBlank);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::vector<Directive> directives(const Source& source) {
  std::vector<Directive> found;
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    const std::string line = trimmed(source.lines[i]);
    if (!line.starts_with("#")) continue;
    const std::string text = trimmed(line.substr(1));
    const auto end = std::min(text.find_first_of(" \t(\"<!"), text.size());
    found.push_back({i + 1, text.substr(0, end), trimmed(text.substr(end))});
  }
  return found;
}

std::vector<Include> includes(const Source& source) {
  std::vector<Include> found;
  for (const auto& directive : directives(source)) {
    if (directive.name != "include" || directive.rest.empty()) continue;
    const bool quoted = directive.rest.front() == '"';
    const auto end = directive.rest.find(quoted ? '"' : '>', 1);
    found.push_back({directive.line, quoted, directive.rest.substr(1, end - 1)});
  }
  return found;
}

std::string first_part(const std::string& path) { return path.substr(0, path.find('/')); }

// Returns the folder under the file's root, or the file's own name where it lies beside folders.
std::string folder_of(const Source& source) {
  return first_part(source.path.substr(source.root().size() + 1));
}

bool starts_with_any(const std::string& text, std::span<const std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) {
    return text.starts_with(prefix);
  });
}

// Returns the folder of ours that an include reaches; nothing for the headers of others.
std::optional<std::string> folder_reached(const Source& source, const Include& include) {
  constexpr std::string_view kOwn = "sheaf/";
  if (include.target.starts_with(kOwn)) return first_part(include.target.substr(kOwn.size()));
  if (!include.quoted || starts_with_any(include.target, kTorch)) return std::nullopt;
  const std::string first = first_part(include.target);
  if (first != include.target && kArrows.contains(first)) return first;
  const auto reached = (fs::path(source.path).parent_path() / include.target).lexically_normal();
  return first_part(reached.lexically_relative(source.root()).string());
}

Findings find_unknown_folders(const Source& source) {
  if (kArrows.contains(folder_of(source))) return {};
  return {finding(source, 1, "'" + folder_of(source) + "' is no folder of the table of arrows")};
}

Findings find_arrows_up(const Source& source) {
  Findings findings;
  const std::string from = folder_of(source);
  const auto row = kArrows.find(from);
  for (const auto& include : includes(source)) {
    const auto to = folder_reached(source, include);
    if (!to || *to == from) continue;
    if (!kArrows.contains(*to)) {
      findings.push_back(
          finding(source, include.line, "'" + *to + "' is no folder of the table of arrows"));
    } else if (row == kArrows.end() || !row->second.contains(*to)) {
      findings.push_back(finding(
          source, include.line, from + " may not use " + *to + ": \"" + include.target + "\""));
    }
  }
  return findings;
}

Findings find_heavy_public_includes(const Source& source) {
  if (!source.is_public()) return {};
  Findings findings;
  for (const auto& [line, quoted, target] : includes(source)) {
    // Who uses a model derives from it or holds it: LibTorch's modules are part of its interface.
    const bool is_module =
        source.path.starts_with("include/sheaf/models/") && target == "torch/nn/module.h";
    const bool heavy =
        starts_with_any(target, kTorch) && target != "ATen/core/Tensor.h" && !is_module;
    if (heavy || starts_with_any(target, kDevices)) {
      findings.push_back(finding(
          source, line, "a public header may include only ATen/core/Tensor.h, not " + target));
    } else if (quoted && !target.starts_with("sheaf/")) {
      findings.push_back(finding(
          source, line, "a public header may not include one that is not installed: " + target));
    }
  }
  return findings;
}

Findings find_torch_in_pure_folders(const Source& source) {
  Findings findings;
  if (!kFoldersWithoutTorch.contains(folder_of(source))) return findings;
  for (const auto& include : includes(source)) {
    if (!starts_with_any(include.target, kTorch)) continue;
    const std::string rule = folder_of(source) + " may not use torch: " + include.target;
    findings.push_back(finding(source, include.line, rule));
  }
  return findings;
}

Findings find_conditions(const Source& source) {
  Findings findings;
  for (const auto& [line, name, rest] : directives(source)) {
    if (name != "if" && name != "ifdef" && name != "ifndef") continue;
    findings.push_back(finding(
        source, line, "no #" + name + " in the code: variants are twin files picked by CMake"));
  }
  return findings;
}

Findings find_missing_pragma(const Source& source) {
  if (!source.is_header()) return {};
  if (!source.lines.empty() && source.lines.front() == "#pragma once") return {};
  return {finding(source, 1, "a header starts with #pragma once")};
}

Findings find_long_files(const Source& source) {
  const std::size_t limit = source.is_header() ? kMaxHeaderLines : kMaxSourceLines;
  if (source.lines.size() <= limit) return {};
  const std::string rule =
      source.is_header() ? "a header has at most 200 lines" : "a source has at most 500 lines";
  return {finding(source, source.lines.size(), rule)};
}

Source read(const fs::path& path) {
  Source source{fs::relative(path, SHEAF_SOURCE_DIR).generic_string(), {}};
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) source.lines.push_back(line);
  return source;
}

std::vector<Source> read_tree() {
  const std::set<std::string> endings{".h", ".cuh", ".cpp", ".cu"};
  std::vector<Source> sources;
  for (const char* root : {"include/sheaf", "src"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(SHEAF_SOURCE_DIR) / root)) {
      if (endings.contains(entry.path().extension())) sources.push_back(read(entry.path()));
    }
  }
  return sources;
}

void expect_followed(const Rule& rule) {
  const auto sources = read_tree();
  EXPECT_GT(sources.size(), 50U) << "files are missing below " << SHEAF_SOURCE_DIR;
  for (const auto& source : sources) {
    for (const auto& found : rule(source)) ADD_FAILURE() << found;
  }
}

TEST(Architecture, EveryFolderIsInTheTable) { expect_followed(find_unknown_folders); }
TEST(Architecture, NoArrowPointsUp) { expect_followed(find_arrows_up); }
TEST(Architecture, PublicHeadersAreLight) { expect_followed(find_heavy_public_includes); }
TEST(Architecture, PureFoldersUseNoTorch) { expect_followed(find_torch_in_pure_folders); }
TEST(Architecture, NoFileHasConditions) { expect_followed(find_conditions); }
TEST(Architecture, EveryHeaderStartsWithPragmaOnce) { expect_followed(find_missing_pragma); }
TEST(Architecture, FilesAreShort) { expect_followed(find_long_files); }

TEST(ArchitectureRules, ReportAnUnknownFolder) {
  EXPECT_THAT(find_unknown_folders({"src/utils/strings.cpp", {}}),
              ElementsAre("src/utils/strings.cpp:1: 'utils' is no folder of the table of arrows"));
  EXPECT_THAT(find_unknown_folders({"include/sheaf/all.h", {}}), ElementsAre(HasSubstr("'all.h'")));
  EXPECT_THAT(find_arrows_up({"src/comm/a.cpp", {"#include \"sheaf/utils/a.h\""}}),
              ElementsAre(HasSubstr("'utils' is no folder")));
}

TEST(ArchitectureRules, ReportAnArrowThatPointsUp) {
  EXPECT_THAT(
      find_arrows_up({"src/base/a.cpp", {"#include <string>", "#include \"sheaf/comm/group.h\""}}),
      ElementsAre("src/base/a.cpp:2: base may not use comm: \"sheaf/comm/group.h\""));
  EXPECT_THAT(find_arrows_up({"include/sheaf/comm/a.h", {"#include <sheaf/train/run.h>"}}),
              ElementsAre(HasSubstr("comm may not use train")));
  EXPECT_THAT(find_arrows_up({"src/comm/a.cpp", {"  # include \"launch/endpoint.h\"  // why"}}),
              ElementsAre(HasSubstr("comm may not use launch")));
  EXPECT_THAT(find_arrows_up({"src/launch/a.cpp", {"#include \"cli/program.h\""}}),
              ElementsAre(HasSubstr("launch may not use cli")));
}

TEST(ArchitectureRules, ReportARelativeIncludeThatLeavesTheFolder) {
  EXPECT_THAT(find_arrows_up({"src/comm/shared/a.cpp", {"#include \"../../launch/endpoint.h\""}}),
              ElementsAre(HasSubstr("comm may not use launch")));
  EXPECT_THAT(find_arrows_up({"src/layout/a.cpp", {"#include \"../comm/group_state.h\""}}),
              ElementsAre(HasSubstr("layout may not use comm")));
}

TEST(ArchitectureRules, AllowArrowsThatPointDownOrStay) {
  EXPECT_THAT(find_arrows_up({"src/comm/shared/a.cpp",
                              {"#include \"../backend.h\"",
                               "#include \"arena.h\"",
                               "#include \"shared/world.h\"",
                               "#include \"base/quoting.h\"",
                               "#include \"sheaf/comm/group.h\"",
                               "#include <torch/csrc/distributed/c10d/Store.hpp>",
                               "// #include \"sheaf/cli/program.h\""}}),
              IsEmpty());
  EXPECT_THAT(find_arrows_up({"src/cli/a.cpp", {"#include \"sheaf/train/run.h\""}}), IsEmpty());
}

TEST(ArchitectureRules, ReportHeavyIncludesOfPublicHeaders) {
  for (const char* heavy : {"torch/torch.h",
                            "ATen/ATen.h",
                            "torch/csrc/distributed/c10d/Store.hpp",
                            "c10/util/Half.h",
                            "cuda_runtime.h",
                            "nccl.h"}) {
    const Source source{"include/sheaf/comm/a.h", {"#include <" + std::string(heavy) + ">"}};
    EXPECT_THAT(find_heavy_public_includes(source), ElementsAre(HasSubstr(heavy)));
  }
  EXPECT_THAT(find_heavy_public_includes({"include/sheaf/comm/a.h", {"#include \"lane.h\""}}),
              ElementsAre(HasSubstr("not installed: lane.h")));
  EXPECT_THAT(
      find_heavy_public_includes({"include/sheaf/comm/a.h", {"#include <ATen/core/Tensor.h>"}}),
      IsEmpty());
}

TEST(ArchitectureRules, ReportTorchInPureFolders) {
  for (const char* folder : {"base", "layout", "plan"}) {
    const Source source{std::string("src/") + folder + "/a.cpp", {"#include <c10/util/Half.h>"}};
    EXPECT_THAT(find_torch_in_pure_folders(source), ElementsAre(HasSubstr("may not use torch")));
  }
}

TEST(ArchitectureRules, ReportConditions) {
  for (const char* line : {"#if defined(X)", "#ifdef X", "  #  ifndef X", "#if(X)", "#if !X"}) {
    EXPECT_THAT(find_conditions({"src/comm/a.cpp", {"", line}}),
                ElementsAre(HasSubstr("src/comm/a.cpp:2: no #if")));
  }
}

TEST(ArchitectureRules, ReportAHeaderWithoutPragmaOnce) {
  EXPECT_THAT(find_missing_pragma({"src/comm/a.h", {"// A comment.", "#pragma once"}}),
              ElementsAre("src/comm/a.h:1: a header starts with #pragma once"));
  EXPECT_THAT(find_missing_pragma({"src/comm/a.h", {}}), ElementsAre(HasSubstr("#pragma once")));
}

TEST(ArchitectureRules, ReportLongFiles) {
  const std::vector<std::string> long_for_a_header(201);
  EXPECT_THAT(find_long_files({"src/comm/a.h", long_for_a_header}),
              ElementsAre("src/comm/a.h:201: a header has at most 200 lines"));
  EXPECT_THAT(find_long_files({"src/comm/a.cpp", long_for_a_header}), IsEmpty());
  EXPECT_THAT(find_long_files({"src/comm/a.cpp", std::vector<std::string>(501)}),
              ElementsAre("src/comm/a.cpp:501: a source has at most 500 lines"));
}

}  // namespace

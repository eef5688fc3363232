#include "cli/checkpoint_inspect_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "checkpoint/dtypes.h"
#include "cli/checkpoint/find.h"
#include "cli/option_set.h"
#include "sheaf/base/error.h"
#include "sheaf/base/table.h"
#include "sheaf/checkpoint/reader.h"

namespace sheaf::cli {
namespace {

using checkpoint::Manifest;
using checkpoint::SavedTensor;
using nlohmann::json;

/// A checkpoint, or what is wrong with it.
struct Page {
  std::string path;
  Manifest manifest;
  std::string problem;
};

Page page_of(const std::string& path) {
  try {
    return {path, checkpoint::open_step(path).manifest(), ""};
  } catch (const Error& error) {
    return {path, {}, error.what()};
  }
}

std::string mesh_text(const Manifest& manifest) {
  std::vector<std::string> axes;
  for (const auto& [name, size] : manifest.mesh) axes.push_back(fmt::format("{} {}", name, size));
  return fmt::format("{}", fmt::join(axes, " x "));
}

/// Returns a member of the run's record as text; "-" where there is none.
std::string of_run(const Manifest& manifest, const char* member) {
  const json run = json::parse(manifest.run);
  if (!run.contains(member) || run[member].is_null()) return "-";
  return run[member].is_string() ? run[member].get<std::string>() : run[member].dump();
}

std::string list_text(const std::vector<Page>& pages) {
  Table table({"checkpoint", "step", "items", "evaluation", "ranks", "strategy", "size"});
  std::string problems;
  for (const Page& page : pages) {
    const std::string name = std::filesystem::path(page.path).filename();
    if (!page.problem.empty()) {
      problems += "problem: " + page.problem + "\n";
      continue;
    }
    const Manifest& manifest = page.manifest;
    table.add({name,
               std::to_string(manifest.step),
               of_run(manifest, "items"),
               of_run(manifest, "evaluation_loss"),
               std::to_string(manifest.ranks),
               of_run(manifest, "strategy"),
               to_string(Bytes{static_cast<std::int64_t>(manifest.bytes())})});
  }
  return table.str() + problems;
}

std::string files_text(const Manifest& manifest) {
  Table table({"file", "size", "tensors"});
  for (const auto& file : manifest.files) {
    const auto tensors = std::ranges::count(manifest.tensors, file.name, &SavedTensor::file);
    table.add({file.name,
               to_string(Bytes{static_cast<std::int64_t>(file.size)}),
               tensors == 0 ? "-" : std::to_string(tensors)});
  }
  return "\n" + table.str();
}

std::string tensors_text(const Manifest& manifest) {
  Table table({"tensor", "type", "shape", "file", "offset", "pieces"});
  for (const auto& [tensor, file, offset, pieces] : manifest.tensors) {
    table.add({tensor.name,
               std::string(checkpoint::dtype_name(tensor.dtype)),
               fmt::format("[{}]", fmt::join(tensor.shape, ", ")),
               file,
               std::to_string(offset),
               std::to_string(pieces.size())});
  }
  return "\n" + table.str();
}

std::string detail_text(const Page& page) {
  const Manifest& manifest = page.manifest;
  Table facts;
  facts.add({"step", std::to_string(manifest.step)});
  facts.add({of_run(manifest, "item_name"), of_run(manifest, "items")});
  facts.add({"position", of_run(manifest, "position")});
  facts.add({"evaluation loss", of_run(manifest, "evaluation_loss")});
  facts.add({"saved by", fmt::format("{} ranks, {}", manifest.ranks, mesh_text(manifest))});
  facts.add({"strategy", of_run(manifest, "strategy")});
  facts.add({"tensors", std::to_string(manifest.tensors.size())});
  facts.add({"size", to_string(Bytes{static_cast<std::int64_t>(manifest.bytes())})});
  return facts.str() + files_text(manifest);
}

json json_of(const SavedTensor& saved) {
  return {{"name", saved.tensor.name},
          {"dtype", checkpoint::dtype_name(saved.tensor.dtype)},
          {"shape", saved.tensor.shape},
          {"file", saved.file},
          {"offset", saved.offset},
          {"pieces", saved.pieces.size()}};
}

json json_of(const Page& page, bool with_tensors) {
  if (!page.problem.empty()) return {{"path", page.path}, {"problem", page.problem}};
  const Manifest& manifest = page.manifest;
  json mesh = json::object();
  for (const auto& [name, size] : manifest.mesh) mesh[name] = size;
  json object{{"path", page.path},
              {"step", manifest.step},
              {"ranks", manifest.ranks},
              {"mesh", mesh},
              {"bytes", manifest.bytes()},
              {"tensors", manifest.tensors.size()},
              {"run", json::parse(manifest.run)}};
  if (!with_tensors) return object;
  object["tensor_list"] = json::array();
  for (const SavedTensor& saved : manifest.tensors) object["tensor_list"].push_back(json_of(saved));
  return object;
}

/// Returns the tensors of all checkpoints that can be read, each under its path.
std::string all_tensors_text(const std::vector<Page>& pages) {
  std::string text;
  for (const Page& page : pages) {
    if (page.problem.empty()) text += "\n" + page.path + tensors_text(page.manifest);
  }
  return text;
}

}  // namespace

void CheckpointInspectCommand::declare(OptionSet& options) {
  options.positional("path", path_, "a checkpoint, or a run's folder of them");
  options.flag("tensors", tensors_, "list all tensors");
  options.flag("json", json_, "print JSON");
}

int CheckpointInspectCommand::run(Console& console) {
  std::vector<Page> pages;
  for (const std::string& path : find_checkpoints(path_)) pages.push_back(page_of(path));
  if (json_) {
    json list = json::array();
    for (const Page& page : pages) list.push_back(json_of(page, tensors_));
    console.out << list.dump(2) << "\n";
    return 0;
  }
  if (pages.size() > 1 || !pages.front().problem.empty()) {
    console.out << list_text(pages);
    if (tensors_) console.out << all_tensors_text(pages);
    return 0;
  }
  console.out << detail_text(pages.front());
  if (tensors_) console.out << tensors_text(pages.front().manifest);
  return 0;
}

}  // namespace sheaf::cli

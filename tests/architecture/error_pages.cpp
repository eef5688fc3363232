#include "error_pages.h"

#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>

namespace sheaf {
namespace {

struct Area {
  std::string folder;
  std::string heading;
  /// What holds for all its messages.
  std::string advice;
};

struct Plan {
  std::string path;
  std::string heading;
  std::string introduction;
  std::vector<Area> areas;
};

std::vector<Plan> plans() {
  return {
      {"docs/errors_program.md",
       "What the program refuses",
       "What a command or a configuration can be refused for",
       {{"cli", "The command line", "`sheaf help COMMAND` lists the options of a command."},
        {"base",
         "Configuration files and values",
         "The message begins with file and line, or with the flag; "
         "[configuration](configuration.md) "
         "has every field."},
        {"launch", "Starting ranks", "See [faults](faults.md) and [security](security.md)."},
        {"train", "A run", "The field is named as in [configuration](configuration.md)."},
        {"plan", "Planning", "See [planning](planning.md)."},
        {"study", "Comparing", "See [study](study.md)."},
        {"profile",
         "Traces",
         "A trace that is damaged is recorded again; see [profiling](profiling.md)."}}},
      {"docs/errors_files.md",
       "What is refused about files",
       "What data, models and checkpoints can be refused for",
       {{"data",
         "Data and tokenizers",
         "See [data](data.md) and [tokenizers](tokenizers.md). A file that is damaged or cut short "
         "is made again."},
        {"models", "Models", "See [models](models.md)."},
        {"hub", "Folders of Hugging Face", "The message begins with the file; see [hub](hub.md)."},
        {"checkpoint",
         "Checkpoints and safetensors files",
         "The message begins with the file; see [checkpoints](checkpoints.md)."}}},
      {"docs/errors_library.md",
       "What the library refuses",
       "What a call from C++ can be refused for",
       {{"comm",
         "Groups and joining",
         "On the rank that asked, before anything moves; the message begins with the call."},
        {"layout", "Layouts and meshes", "See [concepts](concepts.md)."},
        {"memory", "Memory", "See [memory](memory.md)."},
        {"module", "Modules", "See [concepts](concepts.md)."},
        {"nn", "Layers", "Shapes and types of tensors are in the message."},
        {"optim", "Optimizers and schedules", "Names of parameters are those of the module."},
        {"sharding", "Sharding", "See [concepts](concepts.md) and [strategies](strategies)."}}},
  };
}

struct Lists {
  std::vector<std::string> sentences;
  std::vector<std::string> phrases;
  std::set<std::string> seen;
};

void collect(const std::vector<ErrorMessage>& messages, Lists& lists) {
  for (const ErrorMessage& each : messages) {
    if (each.kind != "UsageError" || !has_words(each.text)) continue;
    if (!lists.seen.insert(each.text).second) continue;
    (each.is_phrase ? lists.phrases : lists.sentences).push_back(each.text);
  }
}

// Returns "comm" of src/comm/group.cpp and of include/sheaf/comm/group.h.
std::string folder_of(const std::filesystem::path& path) {
  auto part = path.begin();
  std::advance(part, *part == "include" ? 2 : 1);
  return part->string();
}

// Backquotes in a message need longer ones around it.
std::string as_code(const std::string& text) {
  return text.find('`') == std::string::npos ? "`" + text + "`" : "`` " + text + " ``";
}

std::string text_of(const Area& area, const Lists& lists) {
  std::string text =
      "\n## " + area.heading + " (`src/" + area.folder + "`)\n" + area.advice + "\n\n";
  for (const std::string& each : lists.sentences) text += "- " + as_code(each) + "\n";
  if (lists.phrases.empty()) return text;
  text += "\nInside of such a sentence, what exactly is wrong or expected:\n\n";
  for (const std::string& each : lists.phrases) text += "- " + as_code(each) + "\n";
  return text;
}

}  // namespace

std::vector<ErrorPage> usage_pages(const MessagesByPath& messages) {
  std::map<std::string, Lists> folders;
  for (const auto& [path, found] : messages) collect(found, folders[folder_of(path)]);
  std::vector<ErrorPage> pages;
  for (const Plan& plan : plans()) {
    ErrorPage page{plan.path, "# " + plan.heading + "\n"};
    page.text +=
        "\n<!-- Written from the sources by `./dev docs`; do not edit. -->\n\n" +
        plan.introduction +
        ": every `UsageError` (exit code 2), in the order of the sources. `{}` stands for a value. "
        "Such a message says itself what is wrong and what is possible. All other errors are in "
        "[errors](errors.md).\n";
    for (const Area& area : plan.areas) {
      if (!folders[area.folder].seen.empty()) page.text += text_of(area, folders[area.folder]);
      folders.erase(area.folder);
    }
    pages.push_back(std::move(page));
  }
  for (const auto& [folder, lists] : folders) {
    if (lists.seen.empty()) continue;
    throw std::runtime_error("tests/architecture/error_pages.cpp has no place for src/" + folder);
  }
  return pages;
}

}  // namespace sheaf

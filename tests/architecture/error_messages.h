#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

/// What a place in the sources that refuses, fails or warns says.
struct ErrorMessage {
  /// The class that is made there; "warning" for what goes to the log, "failure" for a verdict of a
  /// launcher.
  std::string kind;
  /// What a function such as refuse() gets and puts into its own sentence.
  bool is_phrase = false;
  /// The sentence, with {} for each value; without words where the source has none there.
  std::string text;
  int line = 0;
};

/// Returns what the expression of a message can say: sentences with {} for each value, two where
/// it chooses between two.
[[nodiscard]] std::vector<std::string> sentences_of(std::string_view expression);

/// Returns the messages of a C++ source, in their order.
[[nodiscard]] std::vector<ErrorMessage> messages_of(const std::string& source);

/// Returns the texts of a source that have a long part between values, for sources which make
/// sentences that others throw.
[[nodiscard]] std::vector<std::string> long_texts_of(const std::string& source);

/// Tells whether something is left to find a sentence by when its values are taken out.
[[nodiscard]] bool has_words(const std::string& sentence);

/// Returns the longest part of a sentence between its values, without what joins it to them.
[[nodiscard]] std::string longest_part(const std::string& sentence);

/// The messages of sources, by their paths.
using MessagesByPath = std::map<std::string, std::vector<ErrorMessage>>;

/// Returns the messages of the library and the program below `root`, the root of the repository.
[[nodiscard]] MessagesByPath messages_below(const std::filesystem::path& root);

[[nodiscard]] std::string text_of_file(const std::filesystem::path& path);

}  // namespace sheaf

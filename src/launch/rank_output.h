#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "launch/file_descriptor.h"
#include "launch/line_prefixer.h"
#include "launch/output_stream.h"

namespace sheaf::launch {

/// The launcher's own two streams.
struct Terminal {
  OutputStream out{STDOUT_FILENO};
  OutputStream err{STDERR_FILENO};

  /// Adds the streams that wait for their readers.
  void add_to(std::vector<pollfd>& entries) const;
  [[nodiscard]] bool is_empty() const { return out.is_empty() && err.is_empty(); }
};

/// The log file of one rank; closed where none is wanted.
struct RankLog {
  std::string path;
  FileDescriptor file;
};

/// Opens `folder`/rank_<rank>.log to append to, creating both. Throws UsageError.
[[nodiscard]] RankLog open_rank_log(const std::string& folder, int rank);

/// Carries one rank's stdout and stderr from their pipes to the terminal and to its log file.
class RankOutput {
 public:
  /// `terminal` must outlive this. No pipes: the rank writes to the terminal itself.
  RankOutput(std::string prefix, RankLog log, Terminal& terminal);

  void attach(FileDescriptor out, FileDescriptor err);

  /// Adds the pipes that can be read now, leaving out those whose stream is full.
  void add_to(std::vector<pollfd>& entries) const;
  /// Reads what is there, up to one buffer per pipe, and closes pipes that have ended.
  void read();
  /// Reads what is there, completes the last lines and closes, even if somebody keeps a pipe open.
  void drain();
  /// Whether somebody may still write, and there is room for it.
  [[nodiscard]] bool is_flowing() const;

 private:
  struct Stream {
    FileDescriptor pipe;
    LinePrefixer lines;
    OutputStream& target;
  };

  std::size_t read_some(Stream& stream);
  void finish(Stream& stream);
  void pass_on(const Lines& lines, OutputStream& target);

  RankLog log_;
  std::array<Stream, 2> streams_;
};

}  // namespace sheaf::launch

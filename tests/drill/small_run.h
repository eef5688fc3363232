#pragma once

#include <string>
#include <vector>

namespace sheaf::drill {

/// Returns the command of a run with dropout and accumulation whose steps take milliseconds, and
/// which leaves all in `folder`. `program` is the path of `sheaf`.
inline std::vector<std::string> small_run(const std::string& program,
                                          const std::string& folder,
                                          const std::vector<std::string>& more) {
  std::vector<std::string> words{program,
                                 "train",
                                 "--model.preset=gpt2-tiny",
                                 "--model.layers=2",
                                 "--model.width=32",
                                 "--model.heads=2",
                                 "--model.context=16",
                                 "--model.dropout=0.1",
                                 "--data.source=stories",
                                 "--data.size=4000",
                                 "--batch.micro=1",
                                 "--train.sample_tokens=0",
                                 "--train.evaluate=false",
                                 "--shard.stage=zero2",
                                 "--log.dir=" + folder + "/log",
                                 "--checkpoint.dir=" + folder + "/saved"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace sheaf::drill

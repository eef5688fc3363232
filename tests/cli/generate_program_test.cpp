// The program itself, which a signal ends in the middle of a text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "hub/sample_models.h"
#include "sheaf/data/tokenizer_training.h"
#include "support/run_command.h"
#include "support/temporary_folder.h"

namespace sheaf::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::StartsWith;

TEST(GenerateProgram, EndsOnASignalWithWhatThereIs) {
  const TemporaryFolder folder;
  models::Shape shape = odd_shape("llama");
  shape.vocabulary = 256;
  shape.context = 1'000'000;
  write_sample(folder.path("model"), shape);
  folder.write("model/tokenizer.json", data::byte_tokenizer_json());
  const std::string command = SHEAF_PROGRAM " generate --from " + folder.path("model") +
                              " --prompt Once --tokens 100000 --ignore-eos > " + folder.path("out");
  // Bash lets background programs ignore SIGINT unless job control is on.
  const std::string script =
      "set -m; " + command + " & until [ $(wc -c < " + folder.path("out") +
      " 2>/dev/null || echo 0) -gt 30 ]; do sleep 0.1; done; kill -INT $!; wait $!";
  const CommandResult result = run_command({"bash", "-c", script});
  EXPECT_EQ(result.exit_code, 128 + SIGINT) << describe(result);
  EXPECT_THAT(folder.read("out"), StartsWith("Once"));
  EXPECT_EQ(folder.read("out").back(), '\n');
  EXPECT_THAT(result.err, ContainsRegex("generation +[0-9]+ tokens in .* tokens/s"));
}

}  // namespace
}  // namespace sheaf::testing

// Configurations that cannot be: each gets one clear sentence and exit code 2 before anything runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/commands.h"
#include "cli/program.h"

namespace sheaf::cli {
namespace {

using testing::HasSubstr;

struct Malformed {
  /// Text of the configuration file.
  std::string config;
  /// What the sentence must contain.
  std::string says;
};

// What a good run needs; each case changes one thing. Later keys of one section cannot repeat
// earlier ones, so the cases bring their own sections.
constexpr const char* kLength = "[train]\nsteps = 1\n";

const std::vector<Malformed>& malformed_runs() {
  static const std::vector<Malformed> cases = {
      // Not TOML, or not ours.
      {"[train", "not TOML"},
      {"steps = ", "not TOML"},
      {"train = 3", "train: expected a section, got 3"},
      {"[train]\nsteps = 1\nsteps = 2", "cannot redefine existing integer 'steps'"},
      {"[trian]\nsteps = 1", "trian: unknown key, did you mean train?"},
      {"[train]\nstep = 1", "did you mean train.steps?"},
      {"[model]\npresett = \"gpt2-124m\"", "did you mean model.preset?"},
      {"\"\" = 1", ".toml:1: "},
      {"[train]\nsteps = 1979-05-27", "train.steps"},
      {"[train]\nsteps = [1, 2]", "train.steps"},
      {"[[train]]\nsteps = 1", "train: expected a section, got a list"},
      {"[train]\nsteps = {a = 1}", "train.steps"},
      {std::string("[train]\nsteps = 1\n\0", 19), "not TOML"},
      {"[train]\nsteps = 1 # \xff\xfe", "not TOML"},
      // Wrong types and numbers out of range.
      {"[train]\nsteps = \"many\"", "train.steps"},
      {"[train]\nsteps = 1.5", "train.steps"},
      {"[train]\nsteps = -1", "between 0 and"},
      {"[train]\nsteps = 99999999999999999999", "64 bits"},
      {"[train]\nsteps = true", "train.steps"},
      {"[train]\nseed = -1", "train.seed"},
      {"[train]\ndeterministic = 1", "train.deterministic"},
      {"[train]\nevaluate = \"yes\"", "train.evaluate"},
      {"[train]\nevaluate_every = -5", "train.evaluate_every"},
      {"[train]\nevaluate_samples = -5", "train.evaluate_samples"},
      {"[train]\nsample_tokens = -1", "train.sample_tokens"},
      {"[train]\nsample_temperature = -0.5", "train.sample_temperature"},
      {"[train]\nsample_temperature = nan", "train.sample_temperature"},
      {"[train]\nsample_prompt = 3", "train.sample_prompt"},
      // No length, or two.
      {"", "no length"},
      {"[train]\nsteps = 0", "no length"},
      {"[train]\nsteps = 1\nepochs = 1", "only one of"},
      {"[train]\nsteps = 1\ntokens = 1", "only one of"},
      {"[train]\ntokens = 5\nepochs = 1", "only one of"},
      // Models.
      {"[model]\npreset = \"gpt3\"", "model.preset"},
      {"[model]\npreset = \"\"", "model.preset"},
      {"[model]\nlayers = -1", "model.layers"},
      {"[model]\nwidth = 100\nheads = 7", "heads"},
      {"[model]\nheads = 5", "heads"},
      {"[model]\nkv_heads = 2", "kv_heads"},
      {"[model]\npreset = \"llama-tiny\"\nheads = 4\nkv_heads = 3", "kv_heads"},
      {"[model]\ndropout = 1.0", "model.dropout"},
      {"[model]\ndropout = -2", "model.dropout"},
      {"[model]\nattention_dropout = 2", "model.attention_dropout"},
      {"[model]\nvocabulary = -3", "model.vocabulary"},
      {"[model]\ncontext = -1", "model.context"},
      {"[model]\nattention = \"magic\"", "model.attention"},
      {"[model]\npreset = \"mnist-cnn\"\nlayers = 3", "layers"},
      {"[model]\npreset = \"mnist-cnn\"\ncontext = 3", "context"},
      // Models that others made, and where trained ones go.
      {"[model]\nfrom = \"/nowhere/at/all\"", "model.from: there is no folder /nowhere/at/all"},
      {"[model]\nfrom = \"/dev\"", "/dev/config.json"},
      {"[model]\nfrom = 3", "model.from"},
      {"[model]\nfrom = \"/nowhere\"\npreset = \"gpt2-tiny\"", "leave model.preset out"},
      {"[model]\nfrom = \"/nowhere\"\nlayers = 3", "leave model.layers out, got 3"},
      {"[model]\nfrom = \"/nowhere\"\nvocabulary = 300", "leave model.vocabulary out"},
      {"[train]\nsteps = 1\nexport = \"/\"", "train.export: the folder is not empty"},
      {"[train]\nsteps = 1\nexport = \"/dev/null\"", "train.export"},
      {"[train]\nsteps = 1\nexport = \"m\"\n[model]\npreset = \"mnist-cnn\"\n[data]\nsource = "
       "\"mnist\"",
       "train.export: only language models"},
      // Data.
      {"[data]\nsource = \"internet\"", "data.source"},
      {"[data]\nsource = \"tokens\"", "data.path"},
      {"[data]\nsource = \"tokens\"\npath = \"/nowhere/at/all\"", "/nowhere/at/all"},
      {"[data]\nsource = \"tokens\"\npath = \"/\"", "data.path"},
      {"[data]\nsource = \"mnist\"\npath = \"/nowhere\"\n[model]\npreset = \"mnist-cnn\"",
       "/nowhere"},
      {"[data]\nsource = \"mnist\"\n[model]\npreset = \"mnist-cnn\"", "data.path"},
      {"[data]\nsource = \"mnist\"", "images"},
      {"[model]\npreset = \"mnist-cnn\"", "texts"},
      {"[data]\nsize = 0", "data.size"},
      {"[data]\npaths = [\"a\", \"b\"]", "data.paths and data.weights are for data.source tokens"},
      {"[data]\nsource = \"tokens\"\npaths = [\"/nowhere/at/all\"]",
       "data.paths: there is no file"},
      {"[data]\nsource = \"tokens\"\npaths = \"a\"", "data.paths: expected a list of texts"},
      {"[data]\nsource = \"tokens\"\npaths = [\"a\", \"b\"]\nweights = [1]",
       "for each of the 2 data.paths"},
      {"[data]\nsource = \"tokens\"\npaths = [\"a\", \"b\"]\nweights = [0, 0]",
       "data.weights: one weight"},
      {"[data]\nweights = [1, -1]", "data.weights: must be at least 0, got -1"},
      {"[data]\nweights = [1, nan]", "data.weights: expected a number"},
      {"[data]\nboundaries = 1", "data.boundaries: expected true or false"},
      {"[data]\nboundaries = true\nsource = \"random\"", "data.boundaries needs documents"},
      {"[data]\nsource = \"stories\"\nsize = 5", "too few"},
      {"[data]\nsource = \"random\"\nsize = 5", "too few"},
      {"[data]\nsource = \"random\"\nsize = 9000000000000000000\n[train]\nepochs = 1000000",
       "data.size: must be between 1 and 1125899906842624"},
      {"[data]\nsource = \"stories\"\nsize = 1000000000000000",
       "data.size of stories must be at most 17179869184"},
      {"[data]\nevaluation_part = 1.0", "data.evaluation_part"},
      {"[data]\nevaluation_part = -0.1", "data.evaluation_part"},
      {"[data]\nworkers = -1", "data.workers"},
      {"[data]\nworkers = 100000", "data.workers"},
      {"[data]\nprefetch = 0", "data.prefetch"},
      {"[data]\nshuffle = \"no\"", "data.shuffle"},
      {"[model]\nvocabulary = 100", "vocabulary"},
      {"[model]\ncontext = 2000000", "a shorter context"},
      // Ranks and strategies.
      {"[mesh]\nreplicate = 0", "mesh.replicate"},
      {"[mesh]\nshard = 0", "mesh.shard"},
      {"[mesh]\nshard = -2", "mesh.shard"},
      {"[mesh]\nreplicate = 2", "hybrid"},
      {"[mesh]\nshard = 3", "do not make 1 ranks"},
      {"[mesh]\nreplicate = 65536\nshard = 65536\n[shard]\nstage = \"hybrid:zero3\"",
       "do not make 1 ranks"},
      {"[shard]\nstage = \"hybrid:zero3\"", "mesh.replicate"},
      {"[optimizer]\nbeta1 = 1", "optimizer.beta1"},
      {"[train]\ntokens = 9223372036854775807", "train.tokens"},
      {"[train]\nepochs = 9000000000000000000", "train.epochs"},
      {"[data]\nsource = \"random\"\nsize = 1125899906842624\n[batch]\nglobal = 1\n[train]\nepochs "
       "= 1000000",
       "a run has at most 1125899906842624 steps"},
      {"[train]\nsteps = 1\nsample_prompt = \"\"", "train.sample_prompt"},
      {"[batch]\nglobal = 1000000000000", "batch.global"},
      {"[shard]\nstage = \"zero4\"", "with stage ddp, zero1, zero2 or zero3"},
      {"[shard]\nstage = \"\"", "a strategy is [hybrid:]stage[:policy]"},
      {"[shard]\nstage = \"zero3:bucketed\"", "policy flat, bucketed (not zero3)"},
      {"[shard]\nstage = 3", "shard.stage"},
      {"[shard]\nwake = \"never\"", "shard.wake"},
      {"[shard]\nbucket = \"25 apples\"", "shard.bucket"},
      {"[shard]\nbucket = 0", "shard.bucket"},
      {"[shard]\nfirst_bucket = \"-1MiB\"", "shard.first_bucket"},
      {"[shard]\nmin_parameters = -1", "shard.min_parameters"},
      {"[shard]\nmax_gathered = 0", "shard.max_gathered"},
      {"[shard]\nmax_gathered = 1", "shard.prefetch"},
      {"[shard]\nno_sync = \"maybe\"", "shard.no_sync"},
      // Precision, optimizer, schedule.
      {"[precision]\ncompute = \"fp4\"", "precision.compute"},
      {"[precision]\ncompute = \"tf32\"", "cuda"},
      {"[precision]\nreduce = \"int8\"", "precision.reduce"},
      {"[precision.scaler]\ninitial_scale = 0", "initial_scale"},
      {"[precision.scaler]\ngrowth_factor = 0.5", "growth_factor"},
      {"[optimizer]\nkind = \"lion\"", "optimizer.kind"},
      {"[optimizer]\nlearning_rate = -1", "optimizer.learning_rate"},
      {"[optimizer]\nlearning_rate = inf", "optimizer.learning_rate"},
      {"[optimizer]\nbeta1 = 1.5", "optimizer.beta1"},
      {"[optimizer]\nbeta2 = -0.1", "optimizer.beta2"},
      {"[optimizer]\nepsilon = -1e-8", "optimizer.epsilon"},
      {"[optimizer]\nweight_decay = -0.1", "optimizer.weight_decay"},
      {"[optimizer]\nclip = -1", "optimizer.clip"},
      {"[optimizer]\nkind = \"sgd\"\nmomentum = 0\nnesterov = true", "momentum"},
      {"[schedule]\nkind = \"sine\"", "schedule.kind"},
      {"[schedule]\nwarmup_steps = -1", "schedule.warmup_steps"},
      {"[schedule]\nfinal_factor = 2", "schedule.final_factor"},
      {"[schedule]\nkind = \"wsd\"", "decay_steps"},
      {"[schedule]\nkind = \"cosine\"\nwarmup_steps = 50", "warmup_steps"},
      // Batches, logs, ranks' meeting.
      {"[batch]\nglobal = 0", "batch.global"},
      {"[batch]\nglobal = -4", "batch.global"},
      {"[batch]\nmicro = -1", "batch.micro"},
      {"[batch]\nglobal = 8\nmicro = 3", "batch.micro"},
      {"[log]\nevery = -1", "log.every"},
      {"[log]\nwarm_up = -1", "log.warm_up"},
      {"[log]\nprice_per_hour = -2", "log.price_per_hour"},
      {"[log]\nbaseline = \"/nowhere\"", "log.baseline"},
      {"[comm]\nbackend = \"pigeon\"", "comm.backend"},
      {"[comm]\ndevice = \"tpu\"", "comm.device"},
      {"[comm]\ntimeout = \"-3s\"", "comm.timeout"},
      {"[comm]\njoin_timeout = 0", "comm.join_timeout"},
  };
  return cases;
}

class MalformedRun : public testing::TestWithParam<std::size_t> {};

// Gives a run its length unless the case is about just that.
std::string whole_config(const Malformed& malformed) {
  const bool about_length = malformed.says == "no length" || malformed.says == "only one of";
  if (about_length || malformed.config.find("train") != std::string::npos) return malformed.config;
  return malformed.config + "\n" + kLength;
}

TEST_P(MalformedRun, GetsOneSentenceAndExitCodeTwo) {
  const Malformed& malformed = malformed_runs()[GetParam()];
  const auto path = std::filesystem::path(testing::TempDir()) /
                    ("malformed_" + std::to_string(GetParam()) + ".toml");
  std::ofstream(path, std::ios::binary) << whole_config(malformed);
  std::ostringstream out;
  std::ostringstream err;
  const int exit_code =
      run_program(commands(), {"train", path.string()}, Console{.out = out, .err = err});
  const std::string text = err.str();
  EXPECT_EQ(exit_code, 2) << malformed.config << "\n" << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_THAT(text, HasSubstr(malformed.says));
  EXPECT_EQ(out.str(), "");
}

INSTANTIATE_TEST_SUITE_P(All,
                         MalformedRun,
                         testing::Range(std::size_t{0}, malformed_runs().size()));

TEST(MalformedRuns, AreAHundred) { EXPECT_GE(malformed_runs().size(), 100U); }

}  // namespace
}  // namespace sheaf::cli

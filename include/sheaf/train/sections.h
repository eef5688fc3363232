#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "sheaf/base/options.h"
#include "sheaf/optim/moments.h"
#include "sheaf/sharding/loss_scaler.h"
#include "sheaf/train/section_enums.h"

namespace sheaf::train {

/// More steps or tokens than any run has; keeps products of them within 64 bits.
inline constexpr std::int64_t kMost = std::int64_t{1} << 50;

/// How ranks are arranged; the product is the number of ranks.
struct MeshOptions {
  /// Copies of the sharded model.
  int replicate = 1;
  /// Ranks that one copy is cut over; -1 takes what is left.
  int shard = -1;
};

/// How the model is cut over the ranks; docs/strategies says which to choose.
struct ShardSection {
  std::string stage = "zero3";
  Wake wake = Wake::automatic;
  Bytes bucket = mebibytes(25);
  Bytes first_bucket = mebibytes(1);
  std::int64_t min_parameters = 0;
  bool prefetch = true;
  int max_gathered = 2;
  bool overlap = true;
  bool gradients_beside = true;
  NoSync no_sync = NoSync::keep;
};

struct PrecisionSection {
  Compute compute = Compute::fp32;
  Reduce reduce = Reduce::fp32;
  Master master = Master::fp32;
  sharding::LossScalerOptions scaler;
};

struct OptimizerSection {
  OptimizerKind kind = OptimizerKind::adamw;
  double learning_rate = 3e-4;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  /// Whether biases and norms decay, too.
  bool decay_vectors = false;
  /// Of sgd.
  double momentum = 0.9;
  bool nesterov = false;
  /// Largest norm of all gradients together; 0: they are not clipped.
  double clip = 1.0;
  /// Whether parameters are stepped within backward, as soon as their gradients are complete.
  bool in_backward = false;
  /// Type of what it keeps beside each parameter.
  optim::Moments moments = optim::Moments::fp32;
};

struct BatchOptions {
  /// Samples of one optimizer step, all ranks together.
  std::int64_t global = 8;
  /// Samples that one rank computes at a time; 0: all of its share at once.
  std::int64_t micro = 0;
  /// Whether passes may have fewer samples than `micro`, so that any number of ranks can share a
  /// batch. Runs that may lose ranks have it on.
  bool uneven = false;
};

struct TrainSection {
  /// One of these three says how long the run is.
  std::int64_t steps = 0;
  std::int64_t tokens = 0;
  std::int64_t epochs = 0;
  std::int64_t seed = 0;
  bool deterministic = false;
  /// Whether a step is recorded once and replayed; docs/step_graph.md.
  GraphUse graph = GraphUse::automatic;
  /// Whether the ranks' weights are compared after the last step.
  bool compare_weights = false;
  bool evaluate = true;
  /// Steps between evaluations; 0: after each epoch. There is always one at the end.
  std::int64_t evaluate_every = 0;
  /// Samples of an evaluation; 0: all there are.
  std::int64_t evaluate_samples = 0;
  /// Tokens of the text that the trained model writes at the end; 0: none.
  std::int64_t sample_tokens = 200;
  std::string sample_prompt = "\n";
  double sample_temperature = 0.8;
  /// Folder that the trained model is written to, as Hugging Face does it; empty: none.
  std::string export_to;
};

struct LogSection {
  std::string dir;
  std::int64_t every = 0;
  std::int64_t warm_up = 5;
  double price_per_hour = 0;
  bool tensorboard = true;
  /// Folder of an earlier run to compare speed and result with.
  std::string baseline;
};

template <class Fields>
void describe(Fields& field, MeshOptions& mesh) {
  field("replicate", mesh.replicate, "copies of the sharded model", at_least(1));
  field("shard", mesh.shard, "ranks that one copy is cut over; -1: what is left", at_least(-1));
}

template <class Fields>
void describe(Fields& field, ShardSection& shard) {
  field("stage", shard.stage, "stage[:policy]: ddp, ddp:flat, zero1, zero2, zero3, hybrid:zero3");
  field("wake", shard.wake, "what gathers parameters in zero3");
  field("bucket", shard.bucket, "size of a bucket", at_least(1));
  field("first_bucket", shard.first_bucket, "size of the bucket that is ready first", at_least(1));
  field("min_parameters",
        shard.min_parameters,
        "zero3: smallest module that is a unit; 0: the model's blocks",
        at_least(0));
  field("prefetch", shard.prefetch, "zero3: gather the next unit while one computes");
  field("max_gathered", shard.max_gathered, "zero3: units gathered at once", at_least(1));
  field("overlap", shard.overlap, "exchange while computing");
  field("gradients_beside", shard.gradients_beside, "graphs: gradients of weights beside backward");
  field("no_sync", shard.no_sync, "gradients of accumulated passes in zero2 and zero3");
}

template <class Fields>
void describe(Fields& field, PrecisionSection& precision) {
  field("compute", precision.compute, "type of forward and backward");
  field("reduce", precision.reduce, "type of gradients on their way between ranks");
  field("master", precision.master, "type that the optimizer steps; bf16: with compute = bf16");
  field.section("scaler", precision.scaler);
}

template <class Fields>
void describe(Fields& field, OptimizerSection& optimizer) {
  field("kind", optimizer.kind, "algorithm");
  field("learning_rate", optimizer.learning_rate, "step size at its highest", at_least(0.0));
  field("beta1", optimizer.beta1, "Adam: share of the mean gradient kept", between(0.0, 0.999999));
  field("beta2", optimizer.beta2, "Adam: share of the mean square kept", between(0.0, 0.999999));
  field("epsilon", optimizer.epsilon, "Adam: added to the root", at_least(0.0));
  field("weight_decay", optimizer.weight_decay, "decay of weights", at_least(0.0));
  field("decay_vectors", optimizer.decay_vectors, "whether biases and norms decay, too");
  field("momentum", optimizer.momentum, "sgd: share of the last direction kept", at_least(0.0));
  field("nesterov", optimizer.nesterov, "sgd: look one step ahead");
  field("clip", optimizer.clip, "largest norm of all gradients; 0: no clipping", at_least(0.0));
  field("in_backward",
        optimizer.in_backward,
        "step within backward what is complete; on GPUs, where nothing is clipped");
  field("moments", optimizer.moments, "type of the optimizer's states");
}

template <class Fields>
void describe(Fields& field, BatchOptions& batch) {
  field("global", batch.global, "samples of a step, all ranks together", between(1, 1 << 30));
  field("micro",
        batch.micro,
        "samples a rank computes at a time; 0: its whole share",
        between(0, 1 << 30));
  field("uneven",
        batch.uneven,
        "ranks may share a batch that they do not divide; on with --min-ranks");
}

template <class Fields>
void describe(Fields& field, TrainSection& train) {
  field(
      "steps", train.steps, "length of the run in steps; or give", between(std::int64_t{0}, kMost));
  field("tokens", train.tokens, "tokens to train on, or", between(std::int64_t{0}, kMost));
  field("epochs", train.epochs, "passes over the data", between(0, 1'000'000));
  field("seed", train.seed, "decides weights, order and dropout", at_least(0));
  field("deterministic", train.deterministic, "refuse operators that may differ from run to run");
  field("graph", train.graph, "replay steps as a CUDA graph; auto: where it is possible");
  field("compare_weights", train.compare_weights, "compare the ranks' weights at the end");
  field("evaluate", train.evaluate, "whether to evaluate at all");
  field("evaluate_every", train.evaluate_every, "steps between; 0: each epoch", at_least(0));
  field("evaluate_samples", train.evaluate_samples, "samples of one; 0: all", at_least(0));
  field("sample_tokens", train.sample_tokens, "length of the text at the end", at_least(0));
  field("sample_prompt", train.sample_prompt, "how that text begins");
  field("sample_temperature", train.sample_temperature, "0: the likeliest token", at_least(0.0));
  field("export", train.export_to, "folder for the trained model, as Hugging Face has it");
}

template <class Fields>
void describe(Fields& field, LogSection& log) {
  field("dir", log.dir, "folder for metrics.jsonl and the rest; empty: none");
  field("every", log.every, "steps between lines; 0: about twenty lines in all", at_least(0));
  field("warm_up", log.warm_up, "first steps that no speed counts", at_least(0));
  field("price_per_hour", log.price_per_hour, "price of one device for an hour", at_least(0.0));
  field("tensorboard", log.tensorboard, "write event files for TensorBoard, too");
  field("baseline", log.baseline, "log folder of an earlier run to compare with");
}

}  // namespace sheaf::train

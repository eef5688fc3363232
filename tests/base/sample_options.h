#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sheaf/base/options.h"

// A described struct with one member of every kind and every limit.
namespace sheaf::sample {

enum class Stage { ddp, zero1, zero3 };

constexpr auto enum_names(Stage) {
  return std::array{EnumName{"ddp", Stage::ddp},
                    EnumName{"zero1", Stage::zero1},
                    EnumName{"zero3", Stage::zero3},
                    EnumName{"FULL_SHARD", Stage::zero3}};
}

struct RetryOptions {
  int times = 3;
  Seconds pause{0.25};
};

template <class Fields>
void describe(Fields& field, RetryOptions& retry) {
  field("times", retry.times, "attempts", between(1, 9));
  field("pause", retry.pause, "time between attempts", at_most(Seconds(60)));
}

struct SampleOptions {
  bool enabled = false;
  int ranks = 2;
  std::int64_t seed = -7;
  double rate = 3e-4;
  std::string name = "run";
  std::string device = "cpu";
  Bytes limit = mebibytes(64);
  Seconds timeout{300};
  Stage stage = Stage::zero1;
  std::vector<std::string> tags = {"a", "b"};
  std::vector<std::int64_t> sizes = {1, 2};
  std::vector<double> shares = {0.5, 2};
  RetryOptions retry = {};
};

template <class Fields>
void describe(Fields& field, SampleOptions& sample) {
  field("enabled", sample.enabled, "whether it is on");
  field("ranks", sample.ranks, "processes", at_least(1));
  field("seed", sample.seed, "start of the random numbers");
  field("rate", sample.rate, "learning rate", positive());
  field("name", sample.name, "name of the run");
  field("device", sample.device, "where it runs", one_of({"cpu", "cuda"}));
  field("limit", sample.limit, "memory", at_least(kibibytes(1)));
  field("timeout", sample.timeout, "longest wait");
  field("stage", sample.stage, "what is cut");
  field("tags", sample.tags, "labels");
  field("sizes", sample.sizes, "bucket sizes", at_least(1));
  field("shares", sample.shares, "parts of a whole", at_least(0.0));
  field.section("retry", sample.retry);
}

/// The sample mounted under a section, as a command would.
struct MountedSample {
  MountedSample() { collector.section("job", options); }
  MountedSample(const MountedSample&) = delete;
  MountedSample& operator=(const MountedSample&) = delete;

  void set(std::string_view key, std::string_view text) {
    find_field(collector.fields(), "job." + std::string(key))->set(text);
  }

  SampleOptions options;
  FieldCollector collector;
};

/// A text for a key of the sample that must be refused, and what the message must say about it.
struct BadValue {
  std::string key;
  std::string text;
  std::string message;
};

inline std::vector<BadValue> bad_values() {
  const std::string time = "expected a time such as 30s or 5min";
  const std::string size = "expected a size such as 64MiB or 1.5GiB";
  const std::string number = "expected a number such as 0.1 or 3e-4";
  const std::string stage = "expected ddp, zero1 or zero3";
  const std::string int32 = "expected an integer between -2147483648 and 2147483647";
  return {{"enabled", "yes", "expected true or false, got 'yes'"},
          {"enabled", "1", "expected true or false, got '1'"},
          {"enabled", "TRUE", "expected true or false, got 'TRUE'"},
          {"enabled", "", "expected true or false, got ''"},
          {"ranks", "abc", "expected an integer, got 'abc'"},
          {"ranks", "", "expected an integer, got ''"},
          {"ranks", "1.5", "expected an integer, got '1.5'"},
          {"ranks", "1e3", "expected an integer, got '1e3'"},
          {"ranks", " 4", "expected an integer, got ' 4'"},
          {"ranks", "4 ", "expected an integer, got '4 '"},
          {"ranks", "+4", "expected an integer, got '+4'"},
          {"ranks", "0x4", "expected an integer, got '0x4'"},
          {"ranks", "4\n", "expected an integer, got '4\\n'"},
          {"ranks", "0", "must be at least 1, got 0"},
          {"ranks", "-2", "must be at least 1, got -2"},
          {"ranks", "2147483648", int32 + ", got '2147483648'"},
          {"seed", "9223372036854775808", "and 9223372036854775807, got '9223372036854775808'"},
          {"seed", "seven", "expected an integer, got 'seven'"},
          {"rate", "fast", number + ", got 'fast'"},
          {"rate", "0.1x", number + ", got '0.1x'"},
          {"rate", "inf", number + ", got 'inf'"},
          {"rate", "nan", number + ", got 'nan'"},
          {"rate", "1e999", number + ", got '1e999'"},
          {"rate", "0", "must be positive, got 0"},
          {"rate", "-0.1", "must be positive, got -0.1"},
          {"name", "\xff\xfe", "expected a text in UTF-8, got other bytes"},
          {"name", "\xc3", "expected a text in UTF-8, got other bytes"},
          {"name", "\xed\xa0\x80", "expected a text in UTF-8, got other bytes"},
          {"device", "tpu", "expected cpu or cuda, got 'tpu'"},
          {"device", "", "expected cpu or cuda, got ''"},
          {"limit", "64M", size + ", got '64M'"},
          {"limit", "-1GiB", size + ", got '-1GiB'"},
          {"limit", "1023", "must be at least 1KiB, got 1023"},
          {"timeout", "abc", time + ", got 'abc'"},
          {"timeout", "-1s", time + ", got '-1s'"},
          {"timeout", "5m", time + ", got '5m'"},
          {"stage", "zero4", stage + ", got 'zero4'"},
          {"stage", "DDP", stage + ", got 'DDP'"},
          {"stage", "", stage + ", got ''"},
          {"tags", "a,,b", "expected an item before and after each comma, got 'a,,b'"},
          {"tags", ",", "expected an item before and after each comma, got ','"},
          {"sizes", "1,x", "expected an integer, got 'x'"},
          {"sizes", "1,", "expected an item before and after each comma, got '1,'"},
          {"sizes", "4,0", "must be at least 1, got 0"},
          {"shares", "1,x", number + ", got 'x'"},
          {"shares", "1,nan", number + ", got 'nan'"},
          {"shares", "1,-0.5", "must be at least 0, got -0.5"},
          {"retry.times", "10", "must be between 1 and 9, got 10"},
          {"retry.times", "0", "must be between 1 and 9, got 0"},
          {"retry.pause", "2min", "must be at most 1min, got 2min"}};
}

}  // namespace sheaf::sample

#pragma once

#include "cli/command.h"
#include "sheaf/base/options.h"
#include "sheaf/comm/init.h"

namespace sheaf::cli {

struct CollectivesOptions {
  Bytes size = mebibytes(64);
  int repeats = 10;
};

template <class Fields>
void describe(Fields& field, CollectivesOptions& options) {
  field("size", options.size, "size of the tensor that the ranks exchange", at_least(4));
  field("repeats", options.repeats, "calls per line; the median is shown", at_least(1));
}

/// Times the collectives of a group of ranks.
class CollectivesCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "collectives"; }
  [[nodiscard]] std::string_view summary() const override {
    return "time the collectives between ranks and print a table";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  int ranks_ = 1;
  bool json_ = false;
  comm::InitOptions comm_;
  CollectivesOptions collectives_;
};

}  // namespace sheaf::cli

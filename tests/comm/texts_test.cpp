#include "comm/texts.h"

#include <gtest/gtest.h>

#include "support/on_ranks.h"

namespace sheaf::comm {
namespace {

using sheaf::testing::on_ranks;
using sheaf::testing::require;
using sheaf::testing::Way;

TEST(Texts, AreGatheredInRankOrderWhateverTheirLengths) {
  on_ranks(Way::shared_threads, 3, [](const Group& group) {
    const std::string own(static_cast<std::size_t>(group.rank()), 'x');
    const std::vector<std::string> expected{"", "x", "xx"};
    require(gather_texts(group, own) == expected, "every rank's text");
  });
}

TEST(Texts, AreBroadcastFromAnyRank) {
  on_ranks(Way::shared_threads, 3, [](const Group& group) {
    for (int root = 0; root < group.size(); ++root) {
      const std::string own = "of rank " + std::to_string(group.rank());
      require(broadcast_text(group, own, root) == "of rank " + std::to_string(root), "the root's");
    }
    require(broadcast_text(group, group.rank() == 0 ? "" : "mine").empty(), "an empty one");
  });
}

}  // namespace
}  // namespace sheaf::comm

#include "sheaf/data/embedded_corpus.h"

#include <gtest/gtest.h>

namespace sheaf::data {
namespace {

TEST(EmbeddedCorpus, IsTheWholeText) {
  const auto text = embedded_corpus();
  EXPECT_EQ(text.size(), 1'115'394U);
  EXPECT_TRUE(text.starts_with("First Citizen:\nBefore we proceed any further"));
  EXPECT_TRUE(text.ends_with("Whiles thou art waking.\n"));
}

}  // namespace
}  // namespace sheaf::data

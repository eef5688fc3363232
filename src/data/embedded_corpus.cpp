#include "sheaf/data/embedded_corpus.h"

// Defined by embedded/tinyshakespeare.S.
extern "C" const char sheaf_tinyshakespeare_begin[];
extern "C" const char sheaf_tinyshakespeare_end[];

namespace sheaf::data {

std::string_view embedded_corpus() {
  return {sheaf_tinyshakespeare_begin, sheaf_tinyshakespeare_end};
}

}  // namespace sheaf::data

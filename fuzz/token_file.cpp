// Any bytes as a token file: it is read, or refused with a UsageError.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory_file.h"
#include "sheaf/base/error.h"
#include "sheaf/data/token_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const sheaf::fuzz::MemoryFile file({bytes, size});
  try {
    const sheaf::data::TokenFiles files(file.path());
    const std::int64_t count = files.info().tokens;
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(count));
    files.tokens(0, count, tokens.data());
    static_cast<void>(files.document_starts(count / 2, count - count / 2));
    static_cast<void>(files.document_starts(0, count));
    files.files().front().verify();
  } catch (const sheaf::UsageError&) {
    return 0;
  }
  return 0;
}

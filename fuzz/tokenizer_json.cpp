// Any text as a tokenizer.json: it is read and used, or refused with a UsageError.
#include <cstddef>
#include <cstdint>

#include "data/bpe/bpe_tokenizer.h"
#include "data/bpe/json_view.h"
#include "data/bpe/tokenizer_json.h"
#include "sheaf/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sheaf::data::bpe;
  try {
    const auto file = parse_json({reinterpret_cast<const char*>(bytes), size});
    const BpeTokenizer tokenizer(read_tokenizer_json(file));
    const auto tokens = tokenizer.encode("the cat's 12 \n\n <s> \xff end");
    (void)tokenizer.decode(tokens);
    (void)tokenizer.complete(tokens);
  } catch (const sheaf::UsageError&) {
    return 0;
  }
  return 0;
}

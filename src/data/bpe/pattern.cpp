#define PCRE2_CODE_UNIT_WIDTH 8
#include "data/bpe/pattern.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <array>
#include <new>

#include "base/quoting.h"
#include "data/bpe/code_points.h"
#include "sheaf/base/error.h"

namespace sheaf::data::bpe {
namespace {

// Enough for any sensible expression on a long text, and an end for those that try everything.
constexpr std::uint32_t kMostSteps = 10'000'000;
constexpr std::size_t kFirstStack = std::size_t{32} << 10;
constexpr std::size_t kLargestStack = std::size_t{16} << 20;

std::string reason_of(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

pcre2_code* compile(const std::string& expression) {
  const std::string translated = in_pcre2_syntax(expression);
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()),
                                   translated.size(),
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C,
                                   &error,
                                   &at,
                                   nullptr);
  if (code == nullptr) {
    throw UsageError(fmt::format("a pattern of the tokenizer cannot be read, {}: {}",
                                 reason_of(error),
                                 in_quotes(expression)));
  }
  // Where the machine has no such compiler, PCRE2 interprets the expression.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return code;
}

}  // namespace

struct Pattern::Code {
  explicit Code(const std::string& text) : expression(text), compiled(compile(text)) {}
  ~Code() { pcre2_code_free(compiled); }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  std::string expression;
  pcre2_code* compiled;
};

Pattern::Pattern(const std::string& expression) : code_(std::make_unique<Code>(expression)) {}
Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;

struct Pattern::Search::Memory {
  explicit Memory(const pcre2_code* code)
      : found(pcre2_match_data_create_from_pattern(code, nullptr)),
        context(pcre2_match_context_create(nullptr)),
        stack(pcre2_jit_stack_create(kFirstStack, kLargestStack, nullptr)) {
    if (found == nullptr || context == nullptr || stack == nullptr) throw std::bad_alloc();
    pcre2_set_match_limit(context, kMostSteps);
    pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~Memory() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(found);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  pcre2_match_data* found;
  pcre2_match_context* context;
  pcre2_jit_stack* stack;
};

Pattern::Search::Search(const Pattern& pattern)
    : pattern_(pattern), memory_(std::make_unique<Memory>(pattern.code_->compiled)) {}
Pattern::Search::~Search() = default;

std::optional<Match> Pattern::Search::try_find(std::string_view text, std::size_t from) {
  const auto run = [&](std::uint32_t options) {
    return pcre2_match(pattern_.code_->compiled,
                       reinterpret_cast<PCRE2_SPTR>(text.data()),
                       text.size(),
                       from,
                       PCRE2_NO_UTF_CHECK | options,
                       memory_->found,
                       memory_->context);
  };
  int result = run(0);
  // The interpreter takes its memory from the heap, where there is more.
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = run(PCRE2_NO_JIT);
  if (result == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (result < 0) {
    throw UsageError(fmt::format("a pattern of the tokenizer cannot be applied, {}: {}",
                                 reason_of(result),
                                 in_quotes(pattern_.code_->expression)));
  }
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(memory_->found);
  return Match{ends[0], ends[1]};
}

std::optional<Match> Pattern::Search::find(std::string_view text, std::size_t from) {
  while (from < text.size()) {
    const auto match = try_find(text, from);
    if (!match || match->begin < match->end) return match;
    // \K may even put the end before the beginning.
    if (match->begin >= text.size()) return std::nullopt;
    from = std::max(match->begin, from);
    from += known_code_point(text.data() + from).size;
  }
  return std::nullopt;
}

}  // namespace sheaf::data::bpe

#include "requests.h"

#include "fields.h"
#include "sheaf/base/error.h"

namespace sheaf::comm::store {
namespace {

Waiting waiting_of(FieldsReader& fields, bool wants_value) {
  const std::chrono::milliseconds patience(fields.next_number());
  return {.keys = fields.rest(),
          .limit = std::chrono::steady_clock::now() + patience,
          .wants_value = wants_value};
}

std::string done() { return FieldsWriter(Answer::done).text(); }
std::string verdict(bool yes) { return FieldsWriter(yes ? Answer::done : Answer::no).text(); }

template <class Value>
std::string done_with(const Value& value) {
  return FieldsWriter(Answer::done).add(value).text();
}

}  // namespace

std::optional<Waiting> Requests::take(const std::string& request, Session& session) try {
  FieldsReader fields(request);
  const auto operation = static_cast<Operation>(fields.kind());
  if (operation == Operation::get || operation == Operation::wait) {
    return waiting_of(fields, operation == Operation::get);
  }
  session.answer(answer_of(request, session));
  return std::nullopt;
} catch (const CommError&) {
  session.end();
  return std::nullopt;
}

std::string Requests::answer_of(const std::string& request, Session& session) {
  FieldsReader fields(request);
  switch (static_cast<Operation>(fields.kind())) {
    case Operation::introduce:
      introduce(fields.next(), session);
      return done();
    case Operation::leave:
      session.name.clear();
      return done();
    case Operation::set: {
      const std::string key = fields.next();
      table_.set(key, fields.next());
      return done();
    }
    case Operation::add: {
      const std::string key = fields.next();
      const auto sum = table_.add(key, fields.next_number());
      return sum.has_value() ? done_with(*sum) : FieldsWriter(Answer::nonsense).text();
    }
    case Operation::compare_set: {
      const std::string key = fields.next();
      const std::string expected = fields.next();
      return done_with(table_.compare_set(key, expected, fields.next()));
    }
    case Operation::check:
      return verdict(table_.has_all(fields.rest()));
    case Operation::erase:
      return verdict(table_.erase(fields.next()));
    case Operation::count:
      return done_with(table_.count());
    case Operation::lost: {
      FieldsWriter answer(Answer::done);
      for (const std::string& name : lost_) answer.add(name);
      return answer.text();
    }
    default:
      return FieldsWriter(Answer::nonsense).text();
  }
}

void Requests::introduce(const std::string& name, Session& session) {
  session.name = name;
  lost_.erase(name);
}

bool Requests::try_to_answer(const Waiting& waiting, Session& session) const {
  if (table_.has_all(waiting.keys)) {
    const bool with_value = waiting.wants_value && !waiting.keys.empty();
    session.answer(with_value ? done_with(*table_.find(waiting.keys.front())) : done());
    return true;
  }
  if (std::chrono::steady_clock::now() < waiting.limit) return false;
  session.answer(FieldsWriter(Answer::late).text());
  return true;
}

void Requests::on_end(const Session& session) {
  if (!session.name.empty()) lost_.insert(session.name);
}

}  // namespace sheaf::comm::store

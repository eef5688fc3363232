#include "launch/messages.h"

#include <nlohmann/json.hpp>

#include "sheaf/base/error.h"

namespace sheaf::launch {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& json) {
  // Host names and paths need not be UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Reads a text with `read`, whatever is wrong with it being one error.
template <class Read>
auto parsed(const std::string& text, const Read& read) {
  try {
    return read(Json::parse(text));
  } catch (const Json::exception&) {
    throw CommError("a launcher of another version, or a stranger, wrote into the store: " +
                    text.substr(0, 80));
  }
}

}  // namespace

std::string encode(const Failure& failure) {
  return text_of({{"code", failure.code},
                  {"sentence", failure.sentence},
                  {"node", failure.node},
                  {"slot", failure.slot}});
}

std::string encode(const Roster& roster) {
  Json nodes = Json::array();
  for (const auto& each : roster.nodes) {
    nodes.push_back({{"node", each.node}, {"launcher", each.launcher}, {"slots", each.slots}});
  }
  return text_of({{"generation", roster.generation}, {"nodes", nodes}});
}

std::string encode(const NodeEnd& end) {
  return text_of({{"code", end.code}, {"stopped", end.stopped}, {"furthest", end.furthest}});
}

std::string encode(const NodeState& state) {
  return text_of({{"launcher", state.launcher}, {"ranks", state.ranks}, {"beat", state.beat}});
}

Failure decode_failure(const std::string& text) {
  return parsed(text, [](const Json& json) {
    return Failure{.code = json.at("code").get<int>(),
                   .sentence = json.at("sentence").get<std::string>(),
                   .node = json.at("node").get<int>(),
                   .slot = json.at("slot").get<int>()};
  });
}

Roster decode_roster(const std::string& text) {
  return parsed(text, [](const Json& json) {
    Roster roster{.generation = json.at("generation").get<int>()};
    for (const Json& each : json.at("nodes")) {
      roster.nodes.push_back({.node = each.at("node").get<int>(),
                              .launcher = each.at("launcher").get<std::string>(),
                              .slots = each.at("slots").get<std::vector<int>>()});
    }
    return roster;
  });
}

NodeEnd decode_end(const std::string& text) {
  return parsed(text, [](const Json& json) {
    return NodeEnd{.code = json.at("code").get<int>(),
                   .stopped = json.at("stopped").get<bool>(),
                   .furthest = json.at("furthest").get<std::int64_t>()};
  });
}

NodeState decode_state(const std::string& text) {
  return parsed(text, [](const Json& json) {
    return NodeState{.launcher = json.at("launcher").get<std::string>(),
                     .ranks = json.at("ranks").get<int>(),
                     .beat = json.at("beat").get<std::int64_t>()};
  });
}

}  // namespace sheaf::launch

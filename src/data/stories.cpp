#include "sheaf/data/stories.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "data/mix.h"

namespace sheaf::data {
namespace {

/// Draws one choice after another; each depends on the story and on its number only.
class Dice {
 public:
  Dice(std::uint64_t seed, std::int64_t index)
      : key_(mix(seed, static_cast<std::uint64_t>(index))) {}

  template <class Item, std::size_t N>
  const Item& pick(const std::array<Item, N>& items) {
    return items[below(N, mix(key_, drawn_++))];
  }
  bool flip() { return (mix(key_, drawn_++) >> 63) != 0; }

 private:
  std::uint64_t key_;
  std::uint64_t drawn_ = 0;
};

struct Person {
  std::string_view name;
  std::string_view pronoun;
  std::string_view object;
  std::string_view possessive;
};

struct Verb {
  std::string_view singular;
  std::string_view plural;
};

constexpr std::array kPeople{Person{"Ada", "she", "her", "her"},
                             Person{"Bruno", "he", "him", "his"},
                             Person{"Clara", "she", "her", "her"},
                             Person{"Emil", "he", "him", "his"},
                             Person{"Greta", "she", "her", "her"},
                             Person{"Ivan", "he", "him", "his"},
                             Person{"Nora", "she", "her", "her"},
                             Person{"Otto", "he", "him", "his"},
                             Person{"Rosa", "she", "her", "her"},
                             Person{"Theo", "he", "him", "his"}};
constexpr std::array<std::string_view, 10> kPlaces{"by the river",
                                                   "in an old mill",
                                                   "at the edge of the forest",
                                                   "on a small island",
                                                   "behind the bakery",
                                                   "near the harbour",
                                                   "in a quiet village",
                                                   "on top of the hill",
                                                   "next to the station",
                                                   "under the bridge"};
constexpr std::array<std::string_view, 10> kThings{"apple",
                                                   "boat",
                                                   "clock",
                                                   "egg",
                                                   "kite",
                                                   "lantern",
                                                   "orange hat",
                                                   "umbrella",
                                                   "whistle",
                                                   "wooden spoon"};
constexpr std::array<std::string_view, 8> kLooks{
    "blue", "tiny", "old", "shiny", "enormous", "red", "ugly", "broken"};
constexpr std::array<std::string_view, 6> kTimes{
    "every morning", "on Sundays", "in the evening", "when it rains", "in winter", "after lunch"};
constexpr std::array kHabits{Verb{"walks to the market", "walk to the market"},
                             Verb{"feeds the geese", "feed the geese"},
                             Verb{"sings a long song", "sing a long song"},
                             Verb{"watches the ships", "watch the ships"},
                             Verb{"bakes bread", "bake bread"},
                             Verb{"counts the stars", "count the stars"}};
constexpr std::array kFeelings{Verb{"is happy", "are happy"},
                               Verb{"is very proud", "are very proud"},
                               Verb{"has to laugh", "have to laugh"},
                               Verb{"is tired but glad", "are tired but glad"}};
constexpr std::array<std::string_view, 6> kDeeds{
    "finds", "loses", "buys", "repairs", "hides", "paints"};

std::string_view article(std::string_view word) {
  return std::string_view("aeiou").find(word.front()) == std::string_view::npos ? "a" : "an";
}

std::string capitalised(std::string_view text) {
  std::string result(text);
  if (result.front() >= 'a' && result.front() <= 'z') result.front() += 'A' - 'a';
  return result;
}

/// Who a story is about: one person, or two and then every verb and pronoun is plural.
struct Heroes {
  Person first;
  Person second;
  bool two = false;

  [[nodiscard]] std::string names() const {
    return two ? fmt::format("{} and {}", first.name, second.name) : std::string(first.name);
  }
  [[nodiscard]] std::string_view pronoun() const { return two ? "they" : first.pronoun; }
  [[nodiscard]] std::string_view say(const Verb& verb) const {
    return two ? verb.plural : verb.singular;
  }
};

Heroes draw_heroes(Dice& dice) {
  Heroes heroes{.first = dice.pick(kPeople), .second = dice.pick(kPeople), .two = dice.flip()};
  if (heroes.first.name == heroes.second.name) heroes.two = false;
  return heroes;
}

std::string opening(Dice& dice, const Heroes& heroes) {
  constexpr Verb kLive{"lives", "live"};
  if (dice.flip()) {
    return fmt::format("{} {} {}.", heroes.names(), heroes.say(kLive), dice.pick(kPlaces));
  }
  return fmt::format(
      "{} {} {}.", capitalised(dice.pick(kPlaces)), heroes.say(kLive), heroes.names());
}

std::string habit(Dice& dice, const Heroes& heroes) {
  const Verb& verb = dice.pick(kHabits);
  const std::string_view when = dice.pick(kTimes);
  if (dice.flip()) {
    return fmt::format("{} {} {}.", capitalised(heroes.pronoun()), heroes.say(verb), when);
  }
  return fmt::format("{} {} {}.", capitalised(when), heroes.pronoun(), heroes.say(verb));
}

std::string event(Dice& dice, const Heroes& heroes) {
  const std::string_view look = dice.pick(kLooks);
  const std::string_view thing = dice.pick(kThings);
  const std::string_view deed = dice.pick(kDeeds);
  return fmt::format("One day {} {} {} {} {}, and {} friend wants to see the {}.",
                     heroes.first.name,
                     deed,
                     article(look),
                     look,
                     thing,
                     heroes.first.possessive,
                     thing);
}

std::string meeting(Dice& dice, const Heroes& heroes) {
  constexpr Verb kMeet{"meets", "meet"};
  const Person& other = dice.pick(kPeople);
  const std::string_view thing = dice.pick(kThings);
  const bool known =
      other.name == heroes.first.name || (heroes.two && other.name == heroes.second.name);
  return fmt::format("Then {} {} {} and {} {} {} {}.",
                     heroes.pronoun(),
                     heroes.say(kMeet),
                     known ? "a stranger" : other.name,
                     heroes.say({"gives", "give"}),
                     known ? "the stranger" : other.object,
                     article(thing),
                     thing);
}

std::string ending(Dice& dice, const Heroes& heroes) {
  return fmt::format("In the end {} {}.", heroes.names(), heroes.say(dice.pick(kFeelings)));
}

}  // namespace

std::string story(std::uint64_t seed, std::int64_t index) {
  Dice dice(seed, index);
  const Heroes heroes = draw_heroes(dice);
  // One statement per sentence: within one, compilers may draw in another order.
  std::string text = opening(dice, heroes);
  text += " " + habit(dice, heroes);
  if (dice.flip()) text += " " + event(dice, heroes);
  if (dice.flip()) text += " " + meeting(dice, heroes);
  text += " " + ending(dice, heroes);
  return text + "\n";
}

std::string stories(std::uint64_t seed, std::int64_t size) {
  const auto bytes = static_cast<std::size_t>(size);
  std::string text;
  text.reserve(bytes);
  for (std::int64_t i = 0; text.size() < bytes; ++i) {
    std::string next = story(seed, i) + "\n";
    next.resize(std::min(next.size(), bytes - text.size()));
    text += next;
  }
  return text;
}

}  // namespace sheaf::data

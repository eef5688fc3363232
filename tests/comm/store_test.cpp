#include "comm/store/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "comm/store/server.h"
#include "sheaf/base/error.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"

namespace sheaf::comm::store {
namespace {

using namespace std::chrono_literals;
using sheaf::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::unique_ptr<Server> serve(Secret secret = {}, std::chrono::milliseconds silence = 15s) {
  return std::make_unique<Server>(listen_at({}, Reach::this_machine),
                                  ServerOptions{.secret = std::move(secret), .silence = silence});
}

c10::intrusive_ptr<Client> join(const Server& server,
                                const Secret& secret = {},
                                const std::string& name = "") {
  return c10::make_intrusive<Client>(
      ClientOptions{.address = server.address(), .secret = secret, .name = name, .timeout = 30s});
}

TEST(Store, KeepsWhatIsSet) {
  const auto server = serve();
  const auto one = join(*server);
  const auto other = join(*server);
  one->set("key", "value");
  EXPECT_EQ(other->get_to_str("key"), "value");
  EXPECT_TRUE(other->check({"key"}));
  EXPECT_FALSE(other->check({"key", "another"}));
  EXPECT_EQ(other->getNumKeys(), 1);
  EXPECT_TRUE(other->deleteKey("key"));
  EXPECT_FALSE(one->deleteKey("key"));
}

TEST(Store, KeepsLargeValuesAndAnyBytes) {
  const auto server = serve();
  const auto client = join(*server);
  std::string value(3'000'000, '\0');
  for (std::size_t i = 0; i < value.size(); ++i) value[i] = static_cast<char>(i * 31);
  client->set("key", value);
  EXPECT_EQ(client->get_to_str("key"), value);
}

TEST(Store, CountsForSeveralAtOnce) {
  const auto server = serve();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto client = join(*server);
      for (int n = 0; n < 100; ++n) client->add("count", 1);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(join(*server)->get_to_str("count"), "400");
}

TEST(Store, SetsOnceByComparing) {
  const auto server = serve();
  const auto client = join(*server);
  EXPECT_EQ(client->compareSet("key", "", "first"), "first");
  EXPECT_EQ(client->compareSet("key", "", "second"), "first");
  EXPECT_EQ(client->compareSet("key", "first", "second"), "second");
  EXPECT_EQ(client->compareSet("missing", "expected", "value"), "expected");
  EXPECT_FALSE(client->check({"missing"}));
}

TEST(Store, WaitsUntilAnotherSets) {
  const auto server = serve();
  const auto client = join(*server);
  std::thread other([&] { join(*server)->set("late", "value"); });
  EXPECT_EQ(client->get_to_str("late"), "value");
  other.join();
}

TEST(Store, SaysThatItWaitedInVain) {
  const auto server = serve();
  const auto client = join(*server);
  EXPECT_THROW(client->wait({"never"}, 20ms), c10::DistStoreError);
  client->set("key", "value");  // and can be used on
  EXPECT_EQ(client->get_to_str("key"), "value");
}

TEST(Store, KnowsWhoWentWithoutAWord) {
  const auto server = serve();
  const auto client = join(*server);
  { const auto polite = join(*server, {}, "rank 1 (polite)"); }
  const pid_t child = ::fork();
  if (child == 0) {
    const auto rude = join(*server, {}, "rank 2 (rude)");
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  while (client->lost().empty()) std::this_thread::yield();
  EXPECT_THAT(client->lost(), ElementsAre("rank 2 (rude)"));
  const auto again = join(*server, {}, "rank 2 (rude)");
  EXPECT_THAT(client->lost(), IsEmpty());
}

TEST(Store, LetsACloneWorkWhileItsOriginalWaits) {
  const auto server = serve();
  const auto client = join(*server, {}, "rank 1");
  const auto clone = client->clone();
  std::thread waiting([&] { client->wait({"late"}); });
  clone->set("late", "value");
  waiting.join();
}

TEST(Store, MissesNoClone) {
  const auto server = serve();
  const auto client = join(*server);
  const pid_t child = ::fork();
  if (child == 0) {
    {
      const auto original = join(*server, {}, "rank 2");
      static_cast<void>(original->clone().release());
    }
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  // Comes after the end of the child's connections.
  join(*server)->set("key", "value");
  EXPECT_THAT(client->lost(), IsEmpty());
}

// As many as a large run has ranks, where a process may have few files open unless it asks.
TEST(Store, HasRoomForMoreThanTheUsualNumberOfFiles) {
  constexpr rlim_t kUsual = 64;
  std::array<int, 2> port{};
  ASSERT_EQ(::pipe(port.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    Address address;
    if (::read(port[0], &address.port, sizeof(address.port)) != sizeof(address.port)) ::_exit(1);
    std::vector<c10::intrusive_ptr<Client>> ranks;
    try {
      while (ranks.size() < 3 * kUsual) {
        ranks.push_back(
            c10::make_intrusive<Client>(ClientOptions{.address = address, .timeout = 5s}));
      }
      for (const auto& rank : ranks) rank->set("key", "value");
    } catch (const Error&) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{.rlim_cur = kUsual, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  int status = -1;
  {
    const auto server = serve();
    EXPECT_EQ(::write(port[1], &server->address().port, sizeof(std::uint16_t)), 2);
    ::waitpid(child, &status, 0);
  }
  ::setrlimit(RLIMIT_NOFILE, &before);
  for (const int end : port) ::close(end);
  EXPECT_EQ(status, 0);
}

TEST(Store, EndsCallsWhenItIsGone) {
  auto server = serve();
  const auto client = join(*server);
  server.reset();
  EXPECT_THAT(error_of([&] { client->set("key", "value"); }),
              HasSubstr("does not answer any more"));
  EXPECT_THAT(error_of([&] { client->set("key", "value"); }),
              HasSubstr("does not answer any more"));
}

TEST(Store, TakesWhoKnowsTheSecret) {
  const Secret secret = Secret::random();
  const auto server = serve(secret);
  join(*server, Secret::parse(secret.hex()))->set("key", "value");
}

TEST(Store, RefusesWhoDoesNotKnowTheSecret) {
  const auto server = serve(Secret::random());
  EXPECT_THAT(error_of([&] { join(*server, Secret::random()); }),
              HasSubstr("the store refused to let this join"));
  EXPECT_THAT(error_of([&] { join(*server); }), HasSubstr("does not know the secret"));
}

TEST(Store, SealsFramesAgainstChanges) {
  const Greeting greeting(Secret::random(), fresh_nonce(), fresh_nonce());
  Seal sender = greeting.seal_of(Side::joiner);
  const std::string first = sender.close("first");
  const std::string second = sender.close("second");
  for (std::size_t i = 4; i < first.size(); ++i) {
    std::string changed = first;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_THROW(static_cast<void>(greeting.seal_of(Side::joiner).open(changed)), CommError);
  }
  std::string skipped = second;
  EXPECT_THROW(static_cast<void>(greeting.seal_of(Side::joiner).open(skipped)), CommError);
  std::string turned_back = first;
  EXPECT_THROW(static_cast<void>(greeting.seal_of(Side::store).open(turned_back)), CommError);
  Seal receiver = greeting.seal_of(Side::joiner);
  std::string whole = first + second + first;
  EXPECT_EQ(receiver.open(whole), "first");
  EXPECT_EQ(receiver.open(whole), "second");
  EXPECT_THROW(static_cast<void>(receiver.open(whole)), CommError);
}

TEST(Store, LetsMembersInThroughACrowdOfStrangers) {
  const Secret secret = Secret::random();
  const auto server = serve(secret);
  std::vector<FileDescriptor> crowd;
  for (int i = 0; i < 500; ++i) {
    crowd.push_back(connect_to(server->address(), 1s));
    ::send(crowd.back().get(), "sheaf-1\n", 8, MSG_NOSIGNAL);  // and nothing more
  }
  join(*server, secret)->set("key", "value");
}

TEST(Listener, IsOnLoopbackForOneMachine) {
  const auto listener = listen_at({"0.0.0.0", 0}, Reach::this_machine);
  EXPECT_EQ(listener.address.host, "127.0.0.1");
  EXPECT_FALSE(listener.everywhere);
}

TEST(Listener, IsOnTheInterfaceOfItsAddress) {
  const auto listener = listen_at({"127.0.0.1", 0}, Reach::network);
  EXPECT_FALSE(listener.everywhere);
  EXPECT_FALSE(connect_to({"127.0.0.2", listener.address.port}, 1s).is_open());
  EXPECT_TRUE(connect_to({"127.0.0.1", listener.address.port}, 1s).is_open());
}

TEST(Listener, IsEverywhereWhereTheNameIsNotOfThisMachine) {
  const auto listener = listen_at({"192.0.2.1", 0}, Reach::network);  // an address for documents
  EXPECT_TRUE(listener.everywhere);
  EXPECT_TRUE(connect_to({"127.0.0.2", listener.address.port}, 1s).is_open());
}

class SecretFile : public ::testing::Test {
 protected:
  std::string file(const std::string& text, std::filesystem::perms mode) {
    const std::string path = folder_.path("secret");
    std::ofstream(path) << text;
    std::filesystem::permissions(path, mode);
    return path;
  }

  sheaf::testing::TemporaryFolder folder_;
};

constexpr auto kOwn = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;

TEST_F(SecretFile, MakesTheSameSecretOfTheSameText) {
  const std::string path = file(std::string(44, 'x'), kOwn);
  EXPECT_EQ(Secret::read(path).hex(), Secret::read(path).hex());
  EXPECT_EQ(Secret::read(path).hex().size(), 64U);
  EXPECT_NE(Secret::read(path).hex(), Secret::read(file(std::string(44, 'y'), kOwn)).hex());
}

TEST_F(SecretFile, IsForItsOwnerOnly) {
  const std::string path = file(std::string(44, 'x'), kOwn | std::filesystem::perms::group_read);
  EXPECT_THAT(error_of([&] { static_cast<void>(Secret::read(path)); }),
              HasSubstr("must be for its owner only (chmod 600), but its mode is 640"));
}

TEST_F(SecretFile, IsLongEnough) {
  const std::string path = file("password", kOwn);
  EXPECT_THAT(error_of([&] { static_cast<void>(Secret::read(path)); }),
              HasSubstr("must hold 32 to 4096 bytes"));
}

TEST(Secret, IsNotTakenFromTheFileWhereALauncherSaysThatThereIsNone) {
  const Lookup lookup = [](const std::string& name) -> std::optional<std::string> {
    return name == Secret::kVariable ? "" : "/no/such/file";
  };
  EXPECT_TRUE(Secret::from_environment(lookup).is_none());
}

TEST(Secret, DoesNotShowWhatItCannotRead) {
  EXPECT_THAT(error_of([] { static_cast<void>(Secret::parse("hunter2")); }),
              Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace sheaf::comm::store

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "cli/doctor/backend_checks.h"
#include "cli/doctor/build_checks.h"
#include "cli/doctor/report.h"
#include "cli/doctor/system_checks.h"
#include "cli/doctor_command.h"
#include "cli/program.h"
#include "sheaf/base/version.h"

namespace sheaf::cli::doctor {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

struct Outcome {
  int exit_code = 0;
  std::string out;
  std::string err;
};

Outcome run_sheaf(const std::vector<std::string>& arguments) {
  CommandList commands;
  commands.push_back(std::make_unique<DoctorCommand>());
  std::ostringstream out;
  std::ostringstream err;
  const int exit_code = run_program(commands, arguments, Console{.out = out, .err = err});
  return {.exit_code = exit_code, .out = out.str(), .err = err.str()};
}

TEST(DoctorCommand, FindsEveryBackendOfTheCpuWorking) {
  const Outcome outcome = run_sheaf({"doctor"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
  EXPECT_EQ(outcome.err, "");
  for (const std::string backend : {"gloo", "shared, threads", "shared, processes", "fake"}) {
    EXPECT_THAT(outcome.out, ContainsRegex("\nbackend " + backend + "  [^\n]*  ok\n"));
  }
  EXPECT_THAT(outcome.out, ContainsRegex("\nbackend one_gpu  "));
  EXPECT_THAT(outcome.out, ContainsRegex("\nbackend nccl  "));
  EXPECT_THAT(outcome.out, ContainsRegex("\nsheaf +" + std::string(version()) + "  "));
}

TEST(DoctorCommand, PrintsTheSameChecksAsJson) {
  const Outcome outcome = run_sheaf({"doctor", "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report.at("healthy"), true);
  const std::string table = run_sheaf({"doctor"}).out;
  for (const auto& check : report.at("checks")) {
    EXPECT_THAT(table, HasSubstr("\n" + check.at("name").get<std::string>() + "  "));
    EXPECT_THAT(check.at("status"), testing::AnyOf("ok", "note"));
    EXPECT_FALSE(check.at("value").get<std::string>().empty());
  }
}

TEST(DoctorCommand, RefusesAnUnknownOption) {
  const Outcome outcome = run_sheaf({"doctor", "--jsom"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "sheaf doctor: unknown option --jsom, did you mean --json?\n");
}

TEST(DoctorCommand, IsAmongTheCommandsOfSheaf) {
  std::ostringstream out;
  std::ostringstream err;
  std::array<std::string, 3> words = {"sheaf", "doctor", "--help"};
  std::array<char*, 3> argv = {words[0].data(), words[1].data(), words[2].data()};
  EXPECT_EQ(run_program(3, argv.data(), out, err), 0);
  EXPECT_THAT(out.str(), HasSubstr("--json"));
}

const std::array<Check, 3> kSick = {
    Check{.name = "disk", .value = "fine"},
    Check{.name = "fan", .value = "loud", .status = Status::note, .advice = "clean it"},
    Check{.name = "heart", .value = "none\n#0", .status = Status::wrong, .advice = "call 112"}};

TEST(DoctorReport, IsATableWithALinePerAdvice) {
  EXPECT_EQ(as_text(kSick),
            "check  value     status\n"
            "disk   fine      ok\n"
            "fan    loud      note\n"
            "heart  none\\n#0  wrong\n"
            "\n"
            "fan: clean it\n"
            "heart: call 112\n");
  EXPECT_EQ(as_text(std::span(kSick).first(1)), "check  value  status\ndisk   fine   ok\n");
}

TEST(DoctorReport, IsJsonWithTheSameContent) {
  const auto report = nlohmann::json::parse(as_json(kSick));
  EXPECT_EQ(report.at("healthy"), false);
  const nlohmann::json last = {
      {"name", "heart"}, {"value", "none\n#0"}, {"status", "wrong"}, {"advice", "call 112"}};
  ASSERT_EQ(report.at("checks").size(), 3U);
  EXPECT_EQ(report.at("checks").at(2), last);
}

TEST(DoctorReport, SurvivesTextThatIsNotUtf8) {
  const std::array<Check, 1> checks = {Check{.name = "mpirun", .value = "/opt/\xff/mpirun"}};
  EXPECT_TRUE(nlohmann::json::accept(as_json(checks)));
}

TEST(DoctorReport, IsHealthyWithNotes) {
  EXPECT_TRUE(is_healthy(std::span(kSick).first(2)));
  EXPECT_FALSE(is_healthy(kSick));
}

TEST(DoctorBackends, TurnAnErrorIntoItsFirstLineAndAnAdvice) {
  const Trial trial{.name = "backend x", .ranks = "2 threads", .advice = "plug it in"};
  const Check failed = try_backend(trial, [] { throw std::runtime_error("no wire\nframe #0"); });
  EXPECT_EQ(failed.status, Status::wrong);
  EXPECT_EQ(failed.value, "no wire");
  EXPECT_EQ(failed.advice, "plug it in");
  const Check passed = try_backend(trial, [] {});
  EXPECT_EQ(passed.status, Status::ok);
  EXPECT_THAT(passed.value, HasSubstr("works, tried with 2 threads in "));
  EXPECT_EQ(passed.advice, "");
}

TEST(DoctorBackends, LeaveOutWhereInItsSourceGlooFailed) {
  const Check check = try_backend({.name = "backend x", .ranks = "", .advice = ""}, [] {
    throw std::runtime_error("rank 1: [enforce fail at /pytorch/device.cc:84] no address: eth9");
  });
  EXPECT_EQ(check.value, "rank 1: no address: eth9");
}

TEST(DoctorBackends, NameTheForkedRankThatFailed) {
  using Outcomes = std::vector<comm::RankOutcome>;
  EXPECT_EQ(first_failure(Outcomes(2)), "");
  EXPECT_EQ(first_failure(Outcomes{{}, {.exit_code = 1, .error = "no memory"}}),
            "rank 1: no memory");
  EXPECT_EQ(first_failure(Outcomes{{.exit_code = -1, .signal = SIGKILL}, {}}),
            "rank 0: killed: Killed");
}

TEST(DoctorBackends, SayWhyOneGpuWasNotTried) {
  EXPECT_EQ(one_gpu_check(false, 1).value, "not tried: this sheaf was built without CUDA");
  EXPECT_EQ(one_gpu_check(true, 0).value, "not tried: there is no CUDA device");
  EXPECT_EQ(one_gpu_check(true, 8).value, "not tried: it is for one GPU, and here are 8");
  EXPECT_EQ(one_gpu_check(true, 0).status, Status::note);
}

TEST(DoctorBackends, SayWhyNcclWasNotTried) {
  EXPECT_EQ(nccl_check({}).value, "not tried: this sheaf was built without CUDA");
  const Check check = nccl_check({.built_in = true, .cuda_version = "13.0"});
  EXPECT_EQ(check.value, "not tried: there is no CUDA device");
  EXPECT_EQ(check.status, Status::note);
}

TEST(DoctorBuild, ComparesTheLoadedLibTorchWithTheCompiledOne) {
  EXPECT_EQ(libtorch_check("2.11.0", "2.11.0").status, Status::ok);
  EXPECT_EQ(libtorch_check("2.11.0", "").status, Status::ok);
  const Check other = libtorch_check("2.11.0", "2.12.1");
  EXPECT_EQ(other.status, Status::wrong);
  EXPECT_EQ(other.value, "2.12.1 loaded, 2.11.0 compiled against");
  EXPECT_THAT(other.advice, HasSubstr("build sheaf again with LibTorch 2.12.1"));
}

TEST(DoctorBuild, NotesAGpuThatThisBuildCannotUse) {
  EXPECT_EQ(cuda_check({}, "").status, Status::ok);
  const Check check = cuda_check({}, "590.48.01");
  EXPECT_EQ(check.status, Status::note);
  EXPECT_THAT(check.advice, HasSubstr("-DSHEAF_CUDA=ON"));
}

TEST(DoctorBuild, NotesThatThereIsNoDevice) {
  const comm::CudaDevices none{.built_in = true, .cuda_version = "13.0", .trouble = "no GPUs\n#0"};
  EXPECT_EQ(cuda_check(none, "").value, "13.0, no driver, 0 devices");
  EXPECT_THAT(cuda_check(none, "").advice, HasSubstr("install a driver for CUDA 13.0"));
  EXPECT_THAT(cuda_check(none, "590.48.01").advice, testing::EndsWith("LibTorch says: no GPUs"));
}

TEST(DoctorBuild, DescribesADevice) {
  comm::CudaDevice device{.name = "NVIDIA H200",
                          .memory = gibibytes(140),
                          .free_memory = gibibytes(139),
                          .major = 9,
                          .minor = 0};
  const Check idle = cuda_device_check(1, device);
  EXPECT_EQ(idle.name, "device cuda:1");
  EXPECT_EQ(idle.value, "NVIDIA H200, 139.0 GiB free of 140.0 GiB, compute capability 9.0");
  EXPECT_EQ(idle.status, Status::ok);
  device.free_memory = gibibytes(3);
  EXPECT_EQ(cuda_device_check(1, device).status, Status::note);
  device.trouble = "uncorrectable error";
  EXPECT_EQ(cuda_device_check(1, device).status, Status::wrong);
  EXPECT_EQ(cuda_device_check(1, device).value, "uncorrectable error");
}

TEST(DoctorBuild, ReadsTheDriverVersion) {
  EXPECT_EQ(driver_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  590.48.01  "
                           "Release Build\nGCC version:  gcc version 11.4.0\n"),
            "590.48.01");
  EXPECT_EQ(driver_version(""), "");
}

TEST(DoctorSystem, SaysHowToOpenMoreFiles) {
  EXPECT_EQ(open_files_check({.soft = 1024, .hard = 4096}).status, Status::ok);
  const Check low = open_files_check({.soft = 256, .hard = 4096});
  EXPECT_EQ(low.status, Status::note);
  EXPECT_EQ(low.value, "256 (hard limit 4096)");
  EXPECT_THAT(low.advice, HasSubstr("ulimit -n 4096"));
  const Check fixed = open_files_check({.soft = 256, .hard = 256});
  EXPECT_THAT(fixed.advice, HasSubstr("raise the hard limit"));
  const Check infinite = open_files_check({.soft = 256, .hard = ~std::uint64_t{0}});
  EXPECT_EQ(infinite.value, "256 (hard limit unlimited)");
  EXPECT_THAT(infinite.advice, HasSubstr("ulimit -n 65536"));
}

TEST(DoctorSystem, NotesASmallShm) {
  EXPECT_EQ(shm_check(mebibytes(64)).status, Status::ok);
  EXPECT_EQ(shm_check(mebibytes(63)).status, Status::note);
  EXPECT_EQ(shm_check(std::nullopt).value, "not there");
}

TEST(DoctorSystem, SaysHowManyCoresAreUsable) {
  EXPECT_EQ(cores_check({.usable = 8, .hardware_threads = 8}).value,
            "8 usable of 8 hardware threads");
  EXPECT_EQ(cores_check({.usable = 2, .hardware_threads = 8}).value,
            "2 usable of 8 hardware threads, by affinity or a control group's quota");
}

TEST(DoctorSystem, SaysWhatABrokenAmxMeans) {
  EXPECT_EQ(broken_amx_check().status, Status::note);
  EXPECT_THAT(broken_amx_check().advice, HasSubstr("ONEDNN_MAX_CPU_ISA"));
}

TEST(DoctorSystem, ReadsMemory) {
  const auto memory = parse_meminfo("MemTotal:  4096 kB\nMemFree: 1 kB\nMemAvailable: 2048 kB\n");
  EXPECT_EQ(memory.total, mebibytes(4));
  EXPECT_EQ(memory.available, mebibytes(2));
}

TEST(DoctorSystem, NamesAMemoryLimitOnlyIfItIsLower) {
  const MemorySizes machine{.total = gibibytes(16), .available = gibibytes(12)};
  EXPECT_EQ(memory_check(machine).value, "12.0 GiB available of 16.0 GiB");
  MemorySizes limited = machine;
  limited.limit = gibibytes(64);
  EXPECT_EQ(memory_check(limited).value, memory_check(machine).value);
  limited.limit = mebibytes(512);
  EXPECT_THAT(memory_check(limited).value, HasSubstr("; the control group may use 512.0 MiB"));
  EXPECT_EQ(memory_check(limited).status, Status::note);
}

TEST(DoctorSystem, CountsAMissingSystemCallAsWrong) {
  EXPECT_EQ(system_call_check("pidfd_open", 0).status, Status::ok);
  const Check refused = system_call_check("pidfd_open", EPERM);
  EXPECT_EQ(refused.status, Status::wrong);
  EXPECT_EQ(refused.value, "Operation not permitted");
  EXPECT_THAT(refused.advice, HasSubstr("Linux 5.3"));
}

}  // namespace
}  // namespace sheaf::cli::doctor

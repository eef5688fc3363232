#pragma once

namespace sheaf {

/// Says whether the processor claims to have AMX, Intel's tile registers, but does not tell how
/// large tiles are: some virtual machines pass the one on and not the other. oneDNN then sets up
/// tiles of no size, and the first bf16 product ends the process (SIGILL).
[[nodiscard]] bool has_broken_amx();

/// Lets oneDNN do without AMX where it is broken, unless the environment says what oneDNN may use.
/// To be called before its first use, and before other threads run.
void avoid_broken_amx();

}  // namespace sheaf

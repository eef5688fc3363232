#pragma once

namespace sheaf::comm {

/// Has MKL look at the processor now, on one thread. LibTorch calls MKL for products and for
/// functions of elements such as tanh, and MKL looks at its first call. Threads that make first
/// calls at the same moment race: one of them may compute by other code, whose last bits differ.
/// To be called before ranks, or the threads of their operators, compute.
void settle_mkl();

}  // namespace sheaf::comm

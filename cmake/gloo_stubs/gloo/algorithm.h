// Note [Gloo stubs]: LibTorch's ProcessGroupGloo.hpp includes five Gloo headers that no LibTorch
// package ships, although the code behind them is inside libtorch_cpu. The class holds only
// standard smart pointers to Gloo types, so these stubs declare the names it mentions and nothing
// else. Never construct a Gloo object through them: their layout is not Gloo's.
#pragma once

// See Note [Gloo stubs] in gloo/algorithm.h.
#pragma once

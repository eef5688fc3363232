#pragma once

// An assignment to a uint4 that lies in memory can become four stores of four bytes: the compiler
// takes it apart where the words are computed one after the other. Neighbouring threads then write
// every fourth word, four times. These stores cannot be taken apart.

namespace sheaf {

/// Writes 16 bytes at once to global memory, at a multiple of 16.
__device__ inline void store_words(void* to, uint4 words) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)),
               "r"(words.x),
               "r"(words.y),
               "r"(words.z),
               "r"(words.w)
               : "memory");
}

/// Writes 8 bytes at once to global memory, at a multiple of 8.
__device__ inline void store_words(void* to, uint2 words) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)),
               "r"(words.x),
               "r"(words.y)
               : "memory");
}

}  // namespace sheaf

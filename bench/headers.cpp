// Carries the precompiled header that all benchmarks share.

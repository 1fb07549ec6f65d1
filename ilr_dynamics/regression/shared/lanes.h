// Copyright 2026 The ilr_dynamics contributors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers side by side, and products of them.

#ifndef ILR_DYNAMICS_LANES_H
#define ILR_DYNAMICS_LANES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

// The compiler makes functions of this mark twice, and the loader takes what the processor can run.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("default", "arch=x86-64-v3")))
#else
#define CLONES
#endif

// Inputs, or components, worked on side by side.
enum { LANES = 8 };
// Eight numbers as two vectors: of loops over lanes that add up, GCC makes instructions that shuffle
// more than they add. What a processor does not have the compiler makes of what it has.
typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t Mask __attribute__((vector_size(32)));
typedef struct { Four low, high; } __attribute__((may_alias)) Lanes;
// All functions that take or return vectors are inline, so their ABI does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

// NaN is kept.
INLINE Four not_below_zero(Four x) { return (Four)((Mask)x & ~(x < 0.0)); }
INLINE Four chosen(Mask first, Four a, Four b)
{
    return (Four)(((Mask)a & first) | ((Mask)b & ~first));
}

// Of one input: independent sums, which become vector instructions too.
INLINE double dot(const double *a, const double *b, ptrdiff_t n)
{
    double sums[4] = {0.0, 0.0, 0.0, 0.0};
    ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int lane = 0; lane < 4; lane++) sums[lane] += a[i + lane] * b[i + lane];
    for (; i < n; i++) sums[0] += a[i] * b[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// a (n,) times b (n, LANES).
INLINE Lanes dot_lanes(const double *a, const double *b, ptrdiff_t n)
{
    Lanes sums = {{0.0}, {0.0}};
    for (ptrdiff_t i = 0; i < n; i++, b += LANES) {
        sums.low += a[i] * *(const Four *)b;
        sums.high += a[i] * *(const Four *)(b + LANES / 2);
    }
    return sums;
}

// a (n,) times b (n, width).
INLINE void product(const double *a, const double *b, ptrdiff_t n, int width, double *result)
{
    if (width == 1) *result = dot(a, b, n);
    else *(Lanes *)result = dot_lanes(a, b, n);
}

INLINE int all_above(Lanes values, double limit)
{
    Mask above = (values.low > limit) & (values.high > limit);
    return (above[0] & above[1] & above[2] & above[3]) != 0;
}

// Ask memory for numbers that are soon needed: those of one component lie apart from the others, and
// to wait for each of its cache lines takes longer than all that is done with it.
INLINE void fetch(const double *numbers, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i += 64 / (ptrdiff_t)sizeof *numbers) __builtin_prefetch(numbers + i);
    __builtin_prefetch(numbers + n - 1);
}

#endif

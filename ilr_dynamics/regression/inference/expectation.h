// Copyright 2026 The ilr_dynamics contributors
// SPDX-License-Identifier: Apache-2.0
//
// E-step: responsibilities of samples near each other, and what they add to the components' statistics.
//
// log rho_nk = c_k - |R_k zeta_n|^2 / 2 is a sum of squares, row by row of triangles (docs/mathematics.md,
// "E-step"). After each row it can but fall: a component is left as soon as it is negligible beside the
// best that is known, which for most is after the first rows.

#ifndef ILR_DYNAMICS_EXPECTATION_H
#define ILR_DYNAMICS_EXPECTATION_H

#include <math.h>

#include "../shared/lanes.h"

// Components with less than exp(-40) of the largest share are left out: all that thousands of them would
// have together is lost in rounding.
static const double NEGLIGIBLE_LOG_SHARE = -40.0;

// Components over [1, x, features, y] of m inputs, q regressors and p numbers in all: constants c (k,),
// triangles (k, triangle_length) and, filled in, sums of products (k, row_length).
typedef struct {
    ptrdiff_t m, q, p, k;
    const double *constants;
    double *triangles, *statistics;
} Components;

// A component that matters to one of some samples side by side: log rho, then shares.
typedef struct {
    double of[LANES];
    ptrdiff_t number;
} Candidate;

// Samples side by side: t = [1, x, features, y] (p, LANES), products (LANES, row_length), weights, the
// largest log rho that is known, and what component has it; `n` candidates; numbers of components.
typedef struct {
    double *t, *products, weights[LANES], largest[LANES];
    ptrdiff_t best[LANES], n, *numbers;
    Candidate *candidates;
} Samples;

// ---------------------------------------------------------------- triangles

// Of a component: rows of x, of the outputs, and of the regressors. Those that tell most come first.
INLINE ptrdiff_t triangle_length(ptrdiff_t m, ptrdiff_t q, ptrdiff_t p)
{
    ptrdiff_t d = p - q;
    return m * (m + 3) / 2 + d * q + d * (d + 1) / 2 + q * (q + 1) / 2;
}

// Copy n numbers of a row over [x, features, 1, y], the one first if it is among them.
INLINE double *take_row(const double *row, ptrdiff_t n, ptrdiff_t one, double *to)
{
    if (n > one) *to++ = row[one];
    for (ptrdiff_t j = 0; j < n; j++)
        if (j != one) *to++ = row[j];
    return to;
}

// Triangles of a component from its roots (m, m + 1) over [x, 1] and (p, p) over [x, features, 1, y].
INLINE void take_triangles(const Components *self, const double *R_x, const double *R_y,
                           double *to)
{
    ptrdiff_t m = self->m, q = self->q, p = self->p;
    for (ptrdiff_t i = 0; i < m; i++) {
        *to++ = R_x[i * (m + 1) + m];
        to = take_row(R_x + i * (m + 1), i + 1, m, to);
    }
    for (ptrdiff_t i = q; i < p; i++) to = take_row(R_y + i * p, i + 1, q - 1, to);
    for (ptrdiff_t i = 0; i < q; i++) to = take_row(R_y + i * p, i + 1, q - 1, to);
}

// ---------------------------------------------------------------- log rho

// Add (row t)^2 to the sums.
INLINE void add_square(const double *row, const double *t, ptrdiff_t n, Lanes *sums)
{
    Lanes y = dot_lanes(row, t, n);
    sums->low += y.low * y.low;
    sums->high += y.high * y.high;
}

// Distances |R_k zeta|^2 from which on a component is negligible.
INLINE Lanes negligible_distances(const Components *self, const Samples *samples, ptrdiff_t number)
{
    const Four *largest = (const Four *)samples->largest;
    double constant = self->constants[number] - NEGLIGIBLE_LOG_SHARE;
    return (Lanes){2.0 * (constant - largest[0]), 2.0 * (constant - largest[1])};
}

// What is not a number is beyond no limit.
INLINE int all_beyond(Lanes sums, Lanes limits)
{
    Mask beyond = (sums.low > limits.low) & (sums.high > limits.high);
    return (beyond[0] & beyond[1] & beyond[2] & beyond[3]) != 0;
}

// Numbers of the components that the first two rows do not rule out, and how many they are. There is no
// jump but the loop's: what is not known ahead takes longer than these rows.
INLINE ptrdiff_t screen(const Components *self, const Samples *samples)
{
    ptrdiff_t n = 0, length = triangle_length(self->m, self->q, self->p);
    const double *row = self->triangles;
    for (ptrdiff_t number = 0; number < self->k; number++, row += length) {
        Lanes sums = {{0.0}, {0.0}};
        add_square(row, samples->t, 2, &sums);
        if (self->m > 1) add_square(row + 2, samples->t, 3, &sums);
        samples->numbers[n] = number;
        n += !all_beyond(sums, negligible_distances(self, samples, number));
    }
    return n;
}

// Take a component as a candidate, unless it is negligible to all samples.
INLINE void consider(const Components *self, Samples *samples, ptrdiff_t number)
{
    ptrdiff_t m = self->m, q = self->q, p = self->p;
    const double *t = samples->t, *row = self->triangles + number * triangle_length(m, q, p);
    Lanes limits = negligible_distances(self, samples, number), sums = {{0.0}, {0.0}};
    for (ptrdiff_t i = 0; i < m; row += i + 2, i++) {
        add_square(row, t, i + 2, &sums);
        // Vectors are slow to compare: after every other row.
        if (i % 2 == 1 && all_beyond(sums, limits)) return;
    }
    for (ptrdiff_t i = q; i < p; i++, row += i) {
        add_square(row, t, i + 1, &sums);
        if (all_beyond(sums, limits)) return;
    }
    for (ptrdiff_t i = 0; i < q - 1; i++, row += i) add_square(row, t + LANES, i + 1, &sums);
    add_square(row, t, q, &sums);
    if (all_beyond(sums, limits)) return;
    Candidate *candidate = &samples->candidates[samples->n++];
    candidate->number = number;
    *(Lanes *)candidate->of = sums;
    for (int lane = 0; lane < LANES; lane++) {
        double log_rho = self->constants[number] - 0.5 * candidate->of[lane];
        candidate->of[lane] = log_rho;
        if (!(log_rho > samples->largest[lane])) continue;
        samples->largest[lane] = log_rho;
        samples->best[lane] = number;
    }
}

INLINE int is_among(ptrdiff_t number, const ptrdiff_t *numbers, ptrdiff_t n)
{
    int found = 0;
    for (ptrdiff_t i = 0; i < n; i++) found |= numbers[i] == number;
    return found;
}

// Consider all components, first those that were best before.
INLINE void consider_all(const Components *self, Samples *samples)
{
    ptrdiff_t first[LANES], n_first = 0;
    for (int lane = 0; lane < LANES; lane++) {
        if (!is_among(samples->best[lane], first, n_first)) first[n_first++] = samples->best[lane];
        samples->largest[lane] = -INFINITY;
    }
    samples->n = 0;
    for (ptrdiff_t i = 0; i < n_first; i++) consider(self, samples, first[i]);
    ptrdiff_t n = screen(self, samples);
    for (ptrdiff_t i = 0; i < n; i++)
        if (!is_among(samples->numbers[i], first, n_first)) consider(self, samples, samples->numbers[i]);
}

// ---------------------------------------------------------------- responsibilities and statistics

// From log rho to shares of the largest, and what they are together; entropy of each sample.
INLINE void share_out(Samples *samples, double *total, double *entropy)
{
    double mean[LANES] = {0.0};
    for (int lane = 0; lane < LANES; lane++) total[lane] = 0.0;
    for (ptrdiff_t c = 0; c < samples->n; c++)
        for (int lane = 0; lane < LANES; lane++) {
            double *share = &samples->candidates[c].of[lane], log_share = *share - samples->largest[lane];
            if (log_share < NEGLIGIBLE_LOG_SHARE) {
                *share = 0.0;
                continue;
            }
            *share = exp(log_share);
            total[lane] += *share;
            mean[lane] += *share * log_share;
        }
    for (int lane = 0; lane < LANES; lane++) entropy[lane] = log(total[lane]) - mean[lane] / total[lane];
}

// Products of a sample fill up vectors.
INLINE ptrdiff_t row_length(ptrdiff_t p) { return (p * (p + 1) / 2 + 3) / 4 * 4; }

// Add to the components' statistics, and return the weighted entropy.
INLINE double add_statistics(const Components *self, Samples *samples)
{
    double total[LANES], entropy[LANES], sum = 0.0;
    ptrdiff_t length = row_length(self->p);
    share_out(samples, total, entropy);
    for (int lane = 0; lane < LANES; lane++) sum += samples->weights[lane] * entropy[lane];
    for (ptrdiff_t c = 0; c < samples->n; c++) {
        const Candidate *candidate = &samples->candidates[c];
        double *statistics = self->statistics + candidate->number * length;
        for (int lane = 0; lane < LANES; lane++) {
            double r = samples->weights[lane] * (candidate->of[lane] / total[lane]);
            const double *products = samples->products + lane * length;
            // What is not a number is not zero.
            if (r == 0.0) continue;
            for (ptrdiff_t i = 0; i < length; i += 4)
                *(Four *)(statistics + i) += r * *(const Four *)(products + i);
        }
    }
    return sum;
}

#endif

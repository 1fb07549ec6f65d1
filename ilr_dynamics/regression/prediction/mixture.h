// Copyright 2026 The ilr_dynamics contributors
// SPDX-License-Identifier: Apache-2.0
//
// The mathematics of the predictive mixture at one input: which components matter, what they say, and
// the moments of the mixture. Notation and proofs are in docs/mathematics.md, "Prediction"; names of
// arrays are those of PredictiveMixture, Screening and Transforms.

#ifndef ILR_DYNAMICS_MIXTURE_H
#define ILR_DYNAMICS_MIXTURE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

// Components that are screened side by side, as in screening.py: their first rows, and the
// coordinates of the boxes about so many.
enum { LANES = 8, MOST_ROWS = 8, MOST_COORDINATES = 4 };
// Components left out weigh less together, as a share of the mixture. So small because one that has
// hardly any data is a thousand times less sure than those that know: its variance counts a million
// times.
static const double NEGLIGIBLE_WEIGHT = 1e-18;
// Of inputs in standard units: sums of their squares stay finite.
static const double LARGEST_INPUT = 1e100;

enum {
    INPUT_LOCATION, INPUT_SCALE, OUTPUT_LOCATION, OUTPUT_SCALE, COORDINATES, LOG_CONSTANTS, EXPONENTS,
    ROOTS, MAPS, WIDENING, VARIANCES, CENTRES, EXTENTS, RESIDUAL_VARIANCE, RESIDUAL_RATES, SPLITS,
    NUMBERS, FIRST_ROWS, BOXES, N_ARRAYS
};

// m inputs, d outputs, q regressors; k components, the unseen one the last; b blocks of components.
typedef struct {
    const double *of[N_ARRAYS];
    ptrdiff_t m, d, q, k, b, n_rows, n_coordinates;
    double log_margin, unseen_variance;
    int learns_residual;
} Mixture;

// A component that matters at x. Its residual there is unlike what it has learned by 1 - rho^2.
typedef struct {
    double log_weight, weight, factor, unlike;
    ptrdiff_t number;
} Candidate;

// Of one input after the other.
typedef struct {
    double *u, *t, *means;
    Candidate *candidates;
    ptrdiff_t n_candidates;
    double largest;
} Scratch;

// What is known of n inputs, one row each: physical units, features, and what a global model predicts
// there. Pointers are NULL where there is none.
enum { X, FEATURES, GLOBAL_MEAN, GLOBAL_FACTOR, GLOBAL_DOUBT, GLOBAL_UNLEARNABLE, N_GIVEN };
typedef struct { const double *of[N_GIVEN]; } Given;

// ---------------------------------------------------------------- which components matter

// Loops over lanes become vector instructions; so do those of `dot` by its independent sums.
INLINE double dot(const double *a, const double *b, ptrdiff_t n)
{
    double sums[4] = {0.0, 0.0, 0.0, 0.0};
    ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int lane = 0; lane < 4; lane++) sums[lane] += a[i + lane] * b[i + lane];
    for (; i < n; i++) sums[0] += a[i] * b[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Distance from which on the weight c - e log(1 + distance) is below the lowest; rate is 1 / e.
//
// For exp(y) there is a number that is not less and at most 6 % more: between powers of two its
// chord, 2^n (1 + f), is above 2^(n + f), and the bits of a floating-point number are those of n + f.
INLINE double distance_limit(double constant, double rate, double lowest)
{
    double power = (constant - lowest) * rate * 1.4426950408889634 + 1023.0, result;
    // What is not a number makes a limit that nothing exceeds.
    power = power < 2045.0 ? power : 2045.0;
    power = power > 1.0 ? power : 1.0;
    int64_t bits = (int64_t)((int32_t)(power * 1048576.0) + 1) << 32;
    memcpy(&result, &bits, sizeof result);
    return result - 1.0;
}

INLINE int all_above(const double *values, double limit)
{
    int64_t n_above = 0;
    for (int lane = 0; lane < LANES; lane++) n_above += values[lane] > limit;
    return n_above == LANES;
}

// |L (t - m)|^2 = sum of squares of y = [offset, L] [1, t], row by row of the triangle: each partial
// sum is a lower bound, and the last one the distance. What exceeds the limit need not be exact.
INLINE double distance(const Mixture *self, ptrdiff_t number, const double *t, double limit)
{
    const double *row = self->of[ROOTS] + number * (self->m * (self->m + 3) / 2);
    double sum = 0.0;
    for (ptrdiff_t i = 0; i < self->m && !(sum > limit); row += i + 2, i++) {
        double y = dot(row, t, i + 2);
        sum += y * y;
    }
    return sum;
}

// Take a component that is not farther than the limit. What is not a number, in a damaged file, fails
// every comparison and is taken: the prediction shows it.
INLINE void consider(const Mixture *self, Scratch *scratch, ptrdiff_t number, double limit)
{
    double squared = distance(self, number, scratch->t, limit);
    if (squared > limit) return;
    Candidate *candidate = &scratch->candidates[scratch->n_candidates++];
    candidate->number = number;
    candidate->log_weight = self->of[LOG_CONSTANTS][number]
                            - self->of[EXPONENTS][number] * log1p(squared);
    if (candidate->log_weight > scratch->largest) scratch->largest = candidate->log_weight;
}

// Consider those of a block that the first rows of their triangles do not rule out. None of them can
// matter beyond the limit.
INLINE void screen_block(const Mixture *self, Scratch *scratch, ptrdiff_t block, double limit)
{
    const double *numbers = self->of[NUMBERS] + block * LANES;
    const double *row = self->of[FIRST_ROWS] + block * (self->n_rows * (self->n_rows + 3) / 2) * LANES;
    double sums[LANES] = {0.0};
    for (ptrdiff_t i = 0; i < self->n_rows; i++) {
        double y[LANES] = {0.0};
        for (ptrdiff_t j = 0; j < i + 2; j++, row += LANES)
            for (int lane = 0; lane < LANES; lane++) y[lane] += row[lane] * scratch->t[j];
        for (int lane = 0; lane < LANES; lane++) sums[lane] += y[lane] * y[lane];
        if (i > 0 && all_above(sums, limit)) return;
    }
    for (int lane = 0; lane < LANES; lane++) {
        if (sums[lane] > limit || numbers[lane] < 0.0) continue;
        ptrdiff_t number = (ptrdiff_t)numbers[lane];
        double own = distance_limit(self->of[LOG_CONSTANTS][number], 1.0 / self->of[EXPONENTS][number],
                                    scratch->largest - self->log_margin);
        if (!(sums[lane] > own)) consider(self, scratch, number, own);
    }
}

// Screen the blocks that no coordinate alone rules out: t_i beyond the centres of all their
// components, in units of the largest variance of any.
INLINE void screen_boxes(const Mixture *self, Scratch *scratch, ptrdiff_t known)
{
    ptrdiff_t stride = (3 * self->n_coordinates + 2) * LANES;
    for (ptrdiff_t first = 0; first < self->b; first += LANES) {
        const double *box = self->of[BOXES] + first / LANES * stride;
        double bounds[LANES] = {0.0}, limits[LANES], lowest = scratch->largest - self->log_margin;
        for (int lane = 0; lane < LANES; lane++)
            limits[lane] = distance_limit(box[lane], box[LANES + lane], lowest);
        box += 2 * LANES;
        for (ptrdiff_t i = 1; i <= self->n_coordinates; i++, box += 3 * LANES) {
            const double *most = box + LANES, *rates = most + LANES;
            for (int lane = 0; lane < LANES; lane++) {
                double below = box[lane] - scratch->t[i], above = scratch->t[i] - most[lane];
                double gap = below > above ? below : above;
                gap = gap > 0.0 ? gap : 0.0;
                double bound = gap * gap * rates[lane];
                bounds[lane] = bound > bounds[lane] ? bound : bounds[lane];
            }
        }
        for (int lane = 0; lane < LANES && first + lane < self->b; lane++)
            if (!(bounds[lane] > limits[lane]) && first + lane != known)
                screen_block(self, scratch, first + lane, limits[lane]);
    }
}

// The block whose region of the coordinates holds t, by bisection.
INLINE ptrdiff_t own_block(const Mixture *self, const double *t)
{
    ptrdiff_t first = 0, end = self->b;
    while (end - first > 1) {
        ptrdiff_t middle = (first + end) / 2;
        const double *split = self->of[SPLITS] + 2 * middle;
        if (t[(ptrdiff_t)split[0] + 1] < split[1]) end = middle;
        else first = middle;
    }
    return first;
}

// Weights of the candidates: all components, or the unseen one, which is as wide as all data, and
// those that a bound does not rule out. The block that x lies in tells what is large first.
INLINE void weigh(const Mixture *self, Scratch *scratch, int all)
{
    scratch->n_candidates = 0;
    scratch->largest = -INFINITY;
    if (all) {
        for (ptrdiff_t number = 0; number < self->k; number++)
            consider(self, scratch, number, INFINITY);
    } else {
        consider(self, scratch, self->k - 1, INFINITY);
        if (self->b) {
            ptrdiff_t known = own_block(self, scratch->t);
            screen_block(self, scratch, known, INFINITY);
            screen_boxes(self, scratch, known);
        }
    }
    double lowest = all ? -INFINITY : scratch->largest - self->log_margin, total = 0.0;
    ptrdiff_t n_left = 0;
    for (ptrdiff_t i = 0; i < scratch->n_candidates; i++) {
        Candidate candidate = scratch->candidates[i];
        if (candidate.log_weight < lowest && candidate.number != self->k - 1) continue;
        candidate.weight = exp(candidate.log_weight - scratch->largest);
        total += candidate.weight;
        scratch->candidates[n_left++] = candidate;
    }
    scratch->n_candidates = n_left;
    double log_total = log(total) + scratch->largest;
    for (ptrdiff_t i = 0; i < n_left; i++) {
        scratch->candidates[i].weight /= total;
        scratch->candidates[i].log_weight -= log_total;
    }
}

// ---------------------------------------------------------------- what components say

INLINE int is_sound_input(const Mixture *self, double x, ptrdiff_t i)
{
    return fabs((x - self->of[INPUT_LOCATION][i]) / self->of[INPUT_SCALE][i]) < LARGEST_INPUT;
}

// u = [x, features, 1] in standard units, and t = [1, coordinates of x]; 0 if x is too large.
INLINE int standardise(const Mixture *self, Scratch *scratch, const double *x, const double *features)
{
    ptrdiff_t m = self->m, q = self->q;
    int is_sound = 1;
    for (ptrdiff_t i = 0; i < m; i++) {
        scratch->u[i] = (x[i] - self->of[INPUT_LOCATION][i]) / self->of[INPUT_SCALE][i];
        is_sound &= is_sound_input(self, x[i], i);
    }
    for (ptrdiff_t i = m; i < q - 1; i++) scratch->u[i] = features[i - m];
    scratch->u[q - 1] = scratch->t[0] = 1.0;
    for (ptrdiff_t i = 0; i < m; i++)
        scratch->t[i + 1] = dot(self->of[COORDINATES] + i * m, scratch->u, m);
    return is_sound;
}

// 1 - rho^2, with rho the correlation (Matern's, exponent 3/2) of the residual at x with that in the
// box that a component has learned; lengths in standard units are 1 / rates.
INLINE double unlike_own(const Mixture *self, const double *u, ptrdiff_t number, double *rho)
{
    const double *centre = self->of[CENTRES] + number * self->m;
    const double *extent = self->of[EXTENTS] + number * self->m, *rates = self->of[RESIDUAL_RATES];
    double squared = 0.0;
    for (ptrdiff_t i = 0; i < self->m; i++) {
        double beyond = fabs(u[i] - centre[i]) - extent[i];
        double part = beyond > 0.0 ? beyond * rates[i] : 0.0;
        squared += part * part;
    }
    double root = sqrt(3.0 * squared);
    *rho = (1.0 + root) * exp(-root);
    return 1.0 - *rho * *rho;
}

// Mean M u and factor 1 + u' L^-1 u of a component, completed by what is known of x besides: the
// unseen one says what the global model does; others know a residual as far as it is like theirs.
INLINE void ask(const Mixture *self, const Scratch *scratch, const Given *given, Candidate *candidate,
                double *mean)
{
    ptrdiff_t d = self->d, q = self->q, number = candidate->number;
    const double *location = self->of[OUTPUT_LOCATION], *scale = self->of[OUTPUT_SCALE];
    candidate->unlike = 0.0;
    if (number == self->k - 1 && given->of[GLOBAL_MEAN]) {
        for (ptrdiff_t j = 0; j < d; j++) {
            double residual = self->learns_residual ? 0.0 : given->of[GLOBAL_MEAN][j];
            mean[j] = (residual - location[j]) / scale[j];
        }
        candidate->factor = *given->of[GLOBAL_FACTOR];
        return;
    }
    const double *map = self->of[MAPS] + number * d * q;
    for (ptrdiff_t j = 0; j < d; j++) mean[j] = dot(map + j * q, scratch->u, q);
    const double *row = self->of[WIDENING] + number * (q * (q + 1) / 2);
    double widening = 0.0;
    for (ptrdiff_t i = 0; i < q; row += q - i, i++)
        widening += scratch->u[i] * dot(row, scratch->u + i, q - i);
    candidate->factor = 1.0 + widening;
    if (!self->of[RESIDUAL_RATES] || number == self->k - 1) return;
    double rho;
    candidate->unlike = unlike_own(self, scratch->u, number, &rho);
    for (ptrdiff_t j = 0; j < d; j++) {
        double none = -location[j] / scale[j];
        mean[j] = none + rho * (mean[j] - none);
    }
}

// Variance of output j that a component has beyond its widened noise, and the part of it that is
// doubt about the mean.
INLINE double added_variance(const Mixture *self, const Candidate *candidate, const Given *given,
                             ptrdiff_t j, double *doubt)
{
    const double *of_global = given->of[GLOBAL_DOUBT], *unlearnable = given->of[GLOBAL_UNLEARNABLE];
    double unit = self->of[OUTPUT_SCALE][j] * self->of[OUTPUT_SCALE][j];
    double noise = unlearnable ? unlearnable[j] / unit : 0.0;
    if (candidate->number == self->k - 1) {
        *doubt = of_global ? self->unseen_variance * of_global[j] / unit : 0.0;
        return *doubt + self->unseen_variance * noise;
    }
    *doubt = candidate->unlike * self->of[RESIDUAL_VARIANCE][j];
    return *doubt + (self->learns_residual ? noise : 0.0);
}

// The row of what is given for n inputs.
INLINE Given given_row(const Mixture *self, const Given *given, ptrdiff_t row)
{
    const ptrdiff_t widths[N_GIVEN] = {self->m, self->q - self->m - 1, self->d, 1, self->d, self->d};
    Given result;
    for (int part = 0; part < N_GIVEN; part++)
        result.of[part] = given->of[part] ? given->of[part] + row * widths[part] : NULL;
    return result;
}

INLINE ptrdiff_t heaviest(const Scratch *scratch)
{
    ptrdiff_t best = 0;
    for (ptrdiff_t i = 1; i < scratch->n_candidates; i++)
        if (scratch->candidates[i].weight > scratch->candidates[best].weight) best = i;
    return best;
}

// Mean, standard deviation and doubt of output j, in physical units.
INLINE void moments(const Mixture *self, const Scratch *scratch, const Given *given, ptrdiff_t j,
                    double *mean, double *deviation, double *doubt)
{
    double centre = 0.0, variance = 0.0, uncertain = 0.0, scale = self->of[OUTPUT_SCALE][j];
    for (ptrdiff_t i = 0; i < scratch->n_candidates; i++)
        centre += scratch->candidates[i].weight * scratch->means[i * self->d + j];
    // Spread about the mixture's mean, not E[y^2] - mean^2: no cancellation.
    for (ptrdiff_t i = 0; i < scratch->n_candidates; i++) {
        const Candidate *candidate = &scratch->candidates[i];
        double noise = self->of[VARIANCES][candidate->number * self->d + j];
        double between = scratch->means[i * self->d + j] - centre, of_doubt;
        double added = added_variance(self, candidate, given, j, &of_doubt) + between * between;
        variance += candidate->weight * (candidate->factor * noise + added);
        uncertain += candidate->weight
                     * ((candidate->factor - 1.0) * noise + of_doubt + between * between);
    }
    *mean = centre * scale + self->of[OUTPUT_LOCATION][j];
    if (self->learns_residual) *mean += given->of[GLOBAL_MEAN][j];
    *deviation = sqrt(variance) * scale;
    *doubt = sqrt(uncertain) * scale;
}

#endif

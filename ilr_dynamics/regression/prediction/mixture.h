// Copyright 2026 The ilr_dynamics contributors
// SPDX-License-Identifier: Apache-2.0
//
// The mathematics of the predictive mixture: weights of the components at inputs, their predictions there,
// and the moments of the mixture. Notation and proofs are in docs/mathematics.md, "Prediction"; names of
// arrays are those of PredictiveMixture, Screening and Transforms.
//
// All of it is written for `width` inputs side by side, 1 or LANES. The compiler knows which: loops
// over them become vector instructions, and what is read of a component serves all of them.

#ifndef ILR_DYNAMICS_MIXTURE_H
#define ILR_DYNAMICS_MIXTURE_H

#include <math.h>

#include "../shared/lanes.h"

enum {
    INPUT_LOCATION, INPUT_SCALE, OUTPUT_LOCATION, OUTPUT_SCALE, COORDINATES, LOG_CONSTANTS, EXPONENTS,
    ROOTS, MAPS, WIDENING, VARIANCES, CENTRES, EXTENTS, RESIDUAL_VARIANCE, RESIDUAL_RATES, SPLITS,
    NUMBERS, FIRST_ROWS, BOXES, N_ARRAYS
};

// m inputs, d outputs, q regressors; k components, the unseen one the last; b blocks of components.
typedef struct {
    const double *of[N_ARRAYS];
    ptrdiff_t m, d, q, k, b, n_rows, n_coordinates;
    double unseen_variance;
    int learns_residual;
    // What left_out.h knows of them.
    double *log_impacts, *least_variances, *largest_in_blocks, least_impact;
} Mixture;

// What is known of n inputs, one row each: physical units, features, and what a global model predicts
// there. Pointers are NULL where there is none.
enum { X, FEATURES, GLOBAL_MEAN, GLOBAL_FACTOR, GLOBAL_DOUBT, GLOBAL_UNLEARNABLE, N_GIVEN };
typedef struct { const double *of[N_GIVEN]; } Given;

// Inputs side by side: u = [x, features, 1] (q, width) in standard units, t = [1, coordinates of x]
// (m + 1, width), and what is given of them (.., width). All of it lies in `memory`, of `size_of_inputs`
// numbers.
typedef struct {
    double *memory, *u, *t, *of[N_GIVEN];
    ptrdiff_t rows[LANES];
} Inputs;

// A component that matters to one of them. Its decorrelation is 1 - rho^2, with the correlation rho of the
// residual there and what it has learned.
typedef struct {
    double log_weight[LANES], weight[LANES], factor[LANES], decorrelation[LANES];
    ptrdiff_t number;
} Candidate;

// Candidates of inputs side by side, and their means (n, d, width).
typedef struct {
    Candidate *candidates;
    ptrdiff_t n;
    double *means;
} Candidates;

// ---------------------------------------------------------------- inputs

// Numbers of a row of what is given.
INLINE ptrdiff_t given_width(const Mixture *self, int part)
{
    const ptrdiff_t widths[N_GIVEN] = {self->m, self->q - self->m - 1, self->d, 1, self->d, self->d};
    return widths[part];
}

INLINE size_t size_of_inputs(const Mixture *self, int width)
{
    return (size_t)((self->q + 3 * self->d + 1 + self->m + 1) * width);
}

// All of inputs from their rows.
INLINE void take_inputs(const Mixture *self, const Given *given, int width, Inputs *inputs)
{
    ptrdiff_t m = self->m;
    const double *location = self->of[INPUT_LOCATION], *scale = self->of[INPUT_SCALE];
    double *end = inputs->memory;
    for (int part = 0; part < N_GIVEN; part++) {
        ptrdiff_t n = given_width(self, part);
        const double *from = given->of[part];
        inputs->of[part] = from ? end : NULL;
        for (int lane = 0; from && lane < width; lane++)
            for (ptrdiff_t i = 0; i < n; i++) end[i * width + lane] = from[inputs->rows[lane] * n + i];
        end += n * width;
        // u ends with it.
        if (part == FEATURES)
            for (int lane = 0; lane < width; lane++) *end++ = 1.0;
    }
    inputs->u = inputs->of[X];
    inputs->t = end;
    for (ptrdiff_t i = 0; i < m; i++)
        for (int lane = 0; lane < width; lane++)
            inputs->u[i * width + lane] = (inputs->u[i * width + lane] - location[i]) / scale[i];
    for (int lane = 0; lane < width; lane++) inputs->t[lane] = 1.0;
    for (ptrdiff_t i = 0; i < m; i++)
        product(self->of[COORDINATES] + i * m, inputs->u, m, width, inputs->t + (i + 1) * width);
}

// ---------------------------------------------------------------- weights

// Distance from which on the weight c - e log(1 + distance) is below the lowest; rate is 1 / e.
//
// For exp(y) there is a number that is not less and at most 6 % more: between powers of two its
// chord, 2^n (1 + f), is above 2^(n + f), and the bits of a floating-point number are those of n + f.
INLINE Four distance_limits(Four constants, Four rates, double lowest)
{
    Four power = (constants - lowest) * rates * 1.4426950408889634 + 1023.0;
    // What is not a number makes a limit that nothing exceeds.
    power = chosen(power < 2045.0, power, (Four){2045.0, 2045.0, 2045.0, 2045.0});
    power = chosen(power > 1.0, power, (Four){1.0, 1.0, 1.0, 1.0});
    // To integers, the next ones or those behind: the last bits of what is a bit more than 2^52.
    return (Four)((Mask)(power * 1048576.0 + (4503599627370496.0 + 1.0)) << 32) - 1.0;
}

INLINE double distance_limit(double constant, double rate, double lowest)
{
    return distance_limits((Four){constant}, (Four){rate}, lowest)[0];
}

// Squared distance of each input, or 0 if the limit is below all of them.
//
// |L (t - m)|^2 = sum of squares of y = [offset, L] [1, t], row by row of the triangle: each partial
// sum is a lower bound, and the last one the distance. What is not a number, in a damaged file, fails
// every comparison: the prediction shows it.
INLINE int distances(const Mixture *self, ptrdiff_t number, const double *t, double limit, int width,
                     double *squared)
{
    ptrdiff_t m = self->m;
    const double *row = self->of[ROOTS] + number * (m * (m + 3) / 2);
    if (width == 1) {
        *squared = 0.0;
        for (ptrdiff_t i = 0; i < m; row += i + 2, i++) {
            double y = dot(row, t, i + 2);
            *squared += y * y;
            if (*squared > limit) return 0;
        }
        return 1;
    }
    Lanes sums = {{0.0}, {0.0}};
    for (ptrdiff_t i = 0; i < m; row += i + 2, i++) {
        Lanes y = dot_lanes(row, t, i + 2);
        sums.low += y.low * y.low;
        sums.high += y.high * y.high;
        // Vectors are slow to compare: after every other row.
        if (i % 2 == 1 && all_above(sums, limit)) return 0;
    }
    *(Lanes *)squared = sums;
    return 1;
}

// Log weight of a component, or 0 if it is below the lowest at all inputs.
INLINE int weigh_one(const Mixture *self, const Inputs *inputs, ptrdiff_t number, double lowest,
                     int width, double *log_weight)
{
    double constant = self->of[LOG_CONSTANTS][number], exponent = self->of[EXPONENTS][number];
    double limit = distance_limit(constant, 1.0 / exponent, lowest);
    double squared[LANES];
    if (!distances(self, number, inputs->t, limit, width, squared)) return 0;
    for (int lane = 0; lane < width; lane++)
        log_weight[lane] = constant - exponent * log1p(squared[lane]);
    return 1;
}

// Weights of candidates from their log weights.
INLINE void normalise(Candidates *all, int width)
{
    Candidate *candidates = all->candidates;
    for (int lane = 0; lane < width; lane++) {
        double largest = -INFINITY, total = 0.0;
        for (ptrdiff_t c = 0; c < all->n; c++)
            if (candidates[c].log_weight[lane] > largest) largest = candidates[c].log_weight[lane];
        for (ptrdiff_t c = 0; c < all->n; c++)
            total += candidates[c].weight[lane] = exp(candidates[c].log_weight[lane] - largest);
        double log_total = log(total) + largest;
        for (ptrdiff_t c = 0; c < all->n; c++) {
            candidates[c].weight[lane] /= total;
            candidates[c].log_weight[lane] -= log_total;
        }
    }
}

// ---------------------------------------------------------------- predictions of components

// 1 - rho^2, with rho the correlation (Matern's, exponent 3/2) of the residual at x with that in the
// box that a component has learned; lengths in standard units are 1 / rates.
INLINE void decorrelation(const Mixture *self, const Inputs *inputs, Candidate *candidate, int width,
                       double *rho)
{
    const double *centre = self->of[CENTRES] + candidate->number * self->m;
    const double *extent = self->of[EXTENTS] + candidate->number * self->m;
    double squared[LANES] = {0.0};
    for (ptrdiff_t i = 0; i < self->m; i++)
        for (int lane = 0; lane < width; lane++) {
            double beyond = fabs(inputs->u[i * width + lane] - centre[i]) - extent[i];
            double part = beyond > 0.0 ? beyond * self->of[RESIDUAL_RATES][i] : 0.0;
            squared[lane] += part * part;
        }
    for (int lane = 0; lane < width; lane++) {
        double root = sqrt(3.0 * squared[lane]);
        rho[lane] = (1.0 + root) * exp(-root);
        candidate->decorrelation[lane] = 1.0 - rho[lane] * rho[lane];
    }
}

// Factor 1 + u' L^-1 u of a component; of the unseen one that of the global model, if there is one.
INLINE void widen(const Mixture *self, const Inputs *inputs, Candidate *candidate, int width)
{
    ptrdiff_t q = self->q, number = candidate->number;
    if (number == self->k - 1 && inputs->of[GLOBAL_MEAN]) {
        memcpy(candidate->factor, inputs->of[GLOBAL_FACTOR], (size_t)width * sizeof(double));
        return;
    }
    const double *row = self->of[WIDENING] + number * (q * (q + 1) / 2);
    double widening[LANES] = {0.0}, y[LANES];
    for (ptrdiff_t i = 0; i < q; row += q - i, i++) {
        product(row, inputs->u + i * width, q - i, width, y);
        for (int lane = 0; lane < width; lane++)
            widening[lane] += inputs->u[i * width + lane] * y[lane];
    }
    for (int lane = 0; lane < width; lane++) candidate->factor[lane] = 1.0 + widening[lane];
}

// Mean of output j of the unseen component with a global model, in standard units: a residual of zero
// where the others learn that.
INLINE double unseen_mean(const Mixture *self, const Inputs *inputs, ptrdiff_t j, int width, int lane)
{
    double mean = self->learns_residual ? 0.0 : inputs->of[GLOBAL_MEAN][j * width + lane];
    return (mean - self->of[OUTPUT_LOCATION][j]) / self->of[OUTPUT_SCALE][j];
}

// Mean (d, width) and factor of a component. The unseen one has the global model's, if there is one; the
// means M u of the others shrink to a residual of zero as far as it is decorrelated.
INLINE void evaluate(const Mixture *self, const Inputs *inputs, Candidate *candidate, int width,
                double *mean)
{
    ptrdiff_t d = self->d, q = self->q, number = candidate->number;
    const double *location = self->of[OUTPUT_LOCATION], *scale = self->of[OUTPUT_SCALE];
    for (int lane = 0; lane < width; lane++) candidate->decorrelation[lane] = 0.0;
    widen(self, inputs, candidate, width);
    if (number == self->k - 1 && inputs->of[GLOBAL_MEAN]) {
        for (ptrdiff_t j = 0; j < d; j++)
            for (int lane = 0; lane < width; lane++)
                mean[j * width + lane] = unseen_mean(self, inputs, j, width, lane);
        return;
    }
    for (ptrdiff_t j = 0; j < d; j++)
        product(self->of[MAPS] + (number * d + j) * q, inputs->u, q, width, mean + j * width);
    double rho[LANES];
    if (!self->of[RESIDUAL_RATES] || number == self->k - 1) return;
    decorrelation(self, inputs, candidate, width, rho);
    for (ptrdiff_t j = 0; j < d; j++) {
        double none = -location[j] / scale[j];
        for (int lane = 0; lane < width; lane++)
            mean[j * width + lane] = none + rho[lane] * (mean[j * width + lane] - none);
    }
}

// Evaluate all of them; data of the next one are fetched ahead.
INLINE void evaluate_all(const Mixture *self, const Inputs *inputs, Candidates *all, int width)
{
    ptrdiff_t n_map = self->d * self->q, n_widening = self->q * (self->q + 1) / 2;
    for (ptrdiff_t c = 0; c < all->n; c++) {
        if (c + 1 < all->n) {
            fetch(self->of[MAPS] + all->candidates[c + 1].number * n_map, n_map);
            fetch(self->of[WIDENING] + all->candidates[c + 1].number * n_widening, n_widening);
        }
        evaluate(self, inputs, &all->candidates[c], width, all->means + c * self->d * width);
    }
}

// Variance of output j that a component has beyond its widened noise, and the part of it that is
// doubt about the mean.
INLINE void added_variance(const Mixture *self, const Inputs *inputs, const Candidate *candidate,
                           ptrdiff_t j, int width, double *added, double *doubt)
{
    const double *of_global = inputs->of[GLOBAL_DOUBT], *unlearnable = inputs->of[GLOBAL_UNLEARNABLE];
    double unit = self->of[OUTPUT_SCALE][j] * self->of[OUTPUT_SCALE][j];
    int is_unseen = candidate->number == self->k - 1;
    double share = is_unseen ? self->unseen_variance / unit : self->learns_residual ? 1.0 / unit : 0.0;
    for (int lane = 0; lane < width; lane++) {
        ptrdiff_t at = j * width + lane;
        if (is_unseen) doubt[lane] = of_global ? share * of_global[at] : 0.0;
        else doubt[lane] = candidate->decorrelation[lane] * self->of[RESIDUAL_VARIANCE][j];
        added[lane] = doubt[lane] + (unlearnable ? share * unlearnable[at] : 0.0);
    }
}

// Mean, standard deviation and doubt of output j, in physical units.
INLINE void moments(const Mixture *self, const Inputs *inputs, const Candidates *all, ptrdiff_t j,
                    int width, double *mean, double *deviation, double *doubt)
{
    double scale = self->of[OUTPUT_SCALE][j], centre[LANES] = {0.0}, variance[LANES] = {0.0};
    double uncertain[LANES] = {0.0}, added[LANES], of_doubt[LANES];
    const double *means = all->means + j * width;
    ptrdiff_t stride = self->d * width;
    for (ptrdiff_t c = 0; c < all->n; c++)
        for (int lane = 0; lane < width; lane++)
            centre[lane] += all->candidates[c].weight[lane] * means[c * stride + lane];
    // Spread about the mixture's mean, not E[y^2] - mean^2: no cancellation.
    for (ptrdiff_t c = 0; c < all->n; c++) {
        const Candidate *candidate = &all->candidates[c];
        double noise = self->of[VARIANCES][candidate->number * self->d + j];
        added_variance(self, inputs, candidate, j, width, added, of_doubt);
        for (int lane = 0; lane < width; lane++) {
            double between = means[c * stride + lane] - centre[lane];
            double weight = candidate->weight[lane], factor = candidate->factor[lane];
            between *= between;
            variance[lane] += weight * (factor * noise + added[lane] + between);
            uncertain[lane] += weight * ((factor - 1.0) * noise + of_doubt[lane] + between);
        }
    }
    for (int lane = 0; lane < width; lane++) {
        mean[lane] = centre[lane] * scale + self->of[OUTPUT_LOCATION][j];
        if (self->learns_residual) mean[lane] += inputs->of[GLOBAL_MEAN][j * width + lane];
        deviation[lane] = sqrt(variance[lane]) * scale;
        doubt[lane] = sqrt(uncertain[lane]) * scale;
    }
}

#endif

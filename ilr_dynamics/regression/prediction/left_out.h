// Copyright 2026 The ilr_dynamics contributors
// SPDX-License-Identifier: Apache-2.0
//
// Which components are left out, so that no moment of the mixture changes by more than NEGLIGIBLE. The
// proof is in docs/mathematics.md, "Leaving components out".

#ifndef ILR_DYNAMICS_LEFT_OUT_H
#define ILR_DYNAMICS_LEFT_OUT_H

#include <float.h>

#include "mixture.h"

// All components that are left out add less to the variance of an output, as a share of it.
static const double NEGLIGIBLE = 1e-9;
// A doubt that is a smaller share of the variance is as exact as one of this share.
static const double SMALL_DOUBT = 1e-3;

// To leave out a few more is no work saved.
enum { FEW = 12 };

// A component that weighs much at an input, beside which others are left out.
typedef struct {
    ptrdiff_t number;
    double log_weight;
} Large;

// ---------------------------------------------------------------- what components add at most

// In `memory` of k + d + b + LANES numbers: logs of what each component adds at most to the variance of an
// output, in units of the least that any has, as a multiple of its weight and |u|^2; these least
// variances; and the largest sum of that and the log weight at the centre in each block.
INLINE void bound_impacts(Mixture *self, double *memory)
{
    ptrdiff_t d = self->d, q = self->q, n_widening = q * (q + 1) / 2;
    const double *location = self->of[OUTPUT_LOCATION], *scale = self->of[OUTPUT_SCALE];
    self->log_impacts = memory;
    self->least_variances = memory + self->k;
    self->largest_in_blocks = self->least_variances + d;
    for (ptrdiff_t j = 0; j < d; j++) {
        self->least_variances[j] = INFINITY;
        for (ptrdiff_t number = 0; number < self->k; number++)
            self->least_variances[j] = fmin(self->least_variances[j], self->of[VARIANCES][number * d + j]);
    }
    self->least_impact = INFINITY;
    for (ptrdiff_t number = 0; number < self->k; number++) {
        // The largest eigenvalue is not above the root of the sum of the squares of all entries.
        const double *row = self->of[WIDENING] + number * n_widening;
        double squares = 0.5 * dot(row, row, n_widening), impact = 0.0;
        for (ptrdiff_t i = 0; i < q; row += q - i, i++) squares += 0.5 * row[0] * row[0];
        for (ptrdiff_t j = 0; j < d; j++) {
            const double *map = self->of[MAPS] + (number * d + j) * q;
            double none = self->of[RESIDUAL_RATES] ? location[j] / scale[j] : 0.0;
            double added = self->of[VARIANCES][number * d + j] * (1.0 + sqrt(squares))
                           + self->of[RESIDUAL_VARIANCE][j] + 4.0 * (dot(map, map, q) + none * none);
            double share = added / self->least_variances[j];
            // What overflows is never negligible: it has to show in the prediction.
            impact = fmax(impact, share <= DBL_MAX ? share : DBL_MAX);
        }
        self->log_impacts[number] = log(impact);
        self->least_impact = fmin(self->least_impact, log(impact));
    }
    for (ptrdiff_t at = 0; at < self->b + LANES; at++) self->largest_in_blocks[at] = -INFINITY;
    for (ptrdiff_t at = 0; at < self->b * LANES; at++) {
        if (self->of[NUMBERS][at] < 0.0) continue;
        ptrdiff_t number = (ptrdiff_t)self->of[NUMBERS][at];
        double *largest = self->largest_in_blocks + at / LANES;
        *largest = fmax(*largest, self->of[LOG_CONSTANTS][number] + self->log_impacts[number]);
    }
}

// Logs of the factors that turn a component's impact, times the ratio of its weight to that of a large one,
// into a bound of its contribution, as a share of any variance or squared doubt. `means` are those of
// the large one.
INLINE void log_rooms(const Mixture *self, const Inputs *inputs, const Candidate *large,
                      const double *means, int width, double *rooms)
{
    const double *unlearnable = inputs->of[GLOBAL_UNLEARNABLE];
    double length[LANES] = {0.0}, added[LANES], doubt[LANES], least = exp(-self->least_impact);
    for (ptrdiff_t i = 0; i < self->q; i++)
        for (int lane = 0; lane < width; lane++)
            length[lane] += inputs->u[i * width + lane] * inputs->u[i * width + lane];
    for (int lane = 0; lane < width; lane++) rooms[lane] = 0.0;
    for (ptrdiff_t j = 0; j < self->d; j++) {
        double noise = self->of[VARIANCES][large->number * self->d + j], unit = self->least_variances[j];
        double scale = self->of[OUTPUT_SCALE][j], others = unlearnable ? least / (scale * scale) : 0.0;
        added_variance(self, inputs, large, j, width, added, doubt);
        for (int lane = 0; lane < width; lane++) {
            ptrdiff_t at = j * width + lane;
            double factor = large->factor[lane], mean = means[at];
            double small = SMALL_DOUBT * (factor * noise + added[lane]);
            double has = (factor - 1.0) * noise + doubt[lane];
            double room = unit * length[lane] + 4.0 * least * mean * mean;
            if (unlearnable) room += others * unlearnable[at];
            room /= has > small ? has : small;
            // What is not a number makes an infinite factor, so that nothing is left out.
            rooms[lane] = room <= rooms[lane] ? rooms[lane] : room == room ? room : INFINITY;
        }
    }
    for (int lane = 0; lane < width; lane++) rooms[lane] = log(rooms[lane] + 2.0 * least);
}

// Log weight of each input from which on a component, its impact included, is not negligible alone.
INLINE void find_levels(const Mixture *self, const Inputs *inputs, const Large *large, double *means,
                        int width, double *levels)
{
    Candidate candidate = {.number = -1};
    double rooms[LANES] = {0.0};
    for (int lane = 0; lane < width; lane++) {
        if (large[lane].number != candidate.number) {
            candidate.number = large[lane].number;
            evaluate(self, inputs, &candidate, width, means);
            log_rooms(self, inputs, &candidate, means, width, rooms);
        }
        levels[lane] = large[lane].log_weight + log(0.5 * NEGLIGIBLE) - rooms[lane];
    }
}

// ---------------------------------------------------------------- candidates

// Take a component as a candidate, unless it is left out. The unseen one is never left out.
INLINE void consider(const Mixture *self, const Inputs *inputs, Candidates *all, ptrdiff_t number,
                     double lowest, int width)
{
    Candidate *candidate = &all->candidates[all->n];
    if (!weigh_one(self, inputs, number, lowest, width, candidate->log_weight)) return;
    candidate->number = number;
    all->n++;
}

// Level up to which candidates can be left out, the lightest first, that all together are negligible:
// logs of what each adds, in units of what is negligible, are in the first of its weights.
INLINE double common_level(const Candidates *all)
{
    enum { N_STEPS = 16 };
    ptrdiff_t counts[N_STEPS] = {0};
    double lowest = -log((double)all->n), sum = 0.0;
    for (ptrdiff_t c = 1; c < all->n; c++) {
        double step = all->candidates[c].weight[0] - lowest;
        if (step < N_STEPS) counts[step > 0.0 ? (int)step : 0]++;
    }
    for (int step = 0; step < N_STEPS; step++) {
        sum += (double)counts[step] * exp(lowest + step + 1.0);
        if (!(sum < 1.0)) return lowest + step;
    }
    return lowest + N_STEPS;
}

// Leave out candidates beside the heaviest one, which is known now; the first, the unseen, stays.
INLINE void leave_out(const Mixture *self, const Inputs *inputs, Candidates *all, int width)
{
    Candidate *candidates = all->candidates;
    double levels[LANES];
    Large large[LANES];
    ptrdiff_t n = all->n;
    if (n <= FEW) return;
    for (int lane = 0; lane < width; lane++) {
        ptrdiff_t best = 0;
        for (ptrdiff_t c = 1; c < n; c++)
            if (candidates[c].log_weight[lane] > candidates[best].log_weight[lane]) best = c;
        large[lane] = (Large){candidates[best].number, candidates[best].log_weight[lane]};
    }
    find_levels(self, inputs, large, all->means, width, levels);
    for (ptrdiff_t c = 1; c < n; c++) {
        double impact = self->log_impacts[candidates[c].number], most = -INFINITY;
        for (int lane = 0; lane < width; lane++)
            most = fmax(most, candidates[c].log_weight[lane] + impact - levels[lane]);
        candidates[c].weight[0] = most;
    }
    double level = common_level(all);
    all->n = 1;
    for (ptrdiff_t c = 1; c < n; c++) {
        if (candidates[c].weight[0] < level) continue;
        Candidate *kept = &candidates[all->n++];
        kept->number = candidates[c].number;
        memmove(kept->log_weight, candidates[c].log_weight, (size_t)width * sizeof(double));
    }
}

#endif

// Copyright 2026 The ilr_dynamics contributors
// SPDX-License-Identifier: Apache-2.0
//
// Which components can matter to some inputs near each other, by bounds that all of these share: of a
// box that holds them in the coordinates t = [1, C x]. Arrays are those of screening.py.

#ifndef ILR_DYNAMICS_SCREENING_H
#define ILR_DYNAMICS_SCREENING_H

#include "left_out.h"

// As in screening.py: first rows of the components' roots, and coordinates of the boxes about their
// centres.
enum { MOST_ROWS = 6, MOST_COORDINATES = 4 };

// The search for a large weight ends where the unseen component is outweighed by this, in logs: with
// less, twice as many components of 21 inputs had to be weighed.
static const double ENOUGH = 24.0;

// First rows are in single precision: to read those of all components from memory is what takes the
// time. What rounding does to y = [offset, L] [1, t] is less than this share of the sum of its terms'
// sizes: 2^-24 for each factor, product and sum.
static const double ROUNDING = 1e-6;
typedef float Eight __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t Mask8 __attribute__((vector_size(32)));

// Inputs lie between low and high (s + 1,), which is no farther from the middle than `reach`, in
// coordinates that are rounded.
typedef struct {
    double low[MOST_ROWS + 1], high[MOST_ROWS + 1];
    float middle[MOST_ROWS + 1], reach[MOST_ROWS + 1];
} Box;

// Numbers of the components that may matter.
typedef struct {
    ptrdiff_t *numbers, n;
} Screened;

// Box of n of the inputs side by side.
INLINE void surround(const Mixture *self, const double *t, int n, int width, Box *box)
{
    for (ptrdiff_t i = 0; i <= self->n_rows; i++, t += width) {
        double low = t[0], high = t[0];
        for (int lane = 1; lane < n; lane++) {
            low = t[lane] < low ? t[lane] : low;
            high = t[lane] > high ? t[lane] : high;
        }
        double size = fabs(low) > fabs(high) ? fabs(low) : fabs(high);
        box->low[i] = low;
        box->high[i] = high;
        box->middle[i] = (float)(0.5 * low + 0.5 * high);
        box->reach[i] = (float)(0.5 * high - 0.5 * low + ROUNDING * size);
    }
}

// By the first rows of their triangles, bounds of the distances of a block's components to all inputs
// of a box; 0 if the limit is below all of them. Each y = [offset, L] [1, t] is, in the box, no nearer
// to zero than in its middle by |L| times the reach.
INLINE int near_distances(const Mixture *self, ptrdiff_t block, const Box *box, double limit,
                          float *distances)
{
    const float *row = (const float *)self->of[FIRST_ROWS]
                       + block * (self->n_rows * (self->n_rows + 3) / 2) * LANES;
    float most = (float)(limit * (1.0 + ROUNDING));
    Eight sums = {0.0f};
    for (ptrdiff_t i = 0; i < self->n_rows; i++) {
        Eight y = {0.0f}, reach = {0.0f};
        for (ptrdiff_t j = 0; j < i + 2; j++, row += LANES) {
            Eight part = *(const Eight *)row;
            y += part * box->middle[j];
            reach += (Eight)((Mask8)part & INT32_MAX) * box->reach[j];
        }
        y = (Eight)((Mask8)y & INT32_MAX) - reach;
        // What is not a number stays it, and fails all comparisons.
        y = (Eight)((Mask8)y & ~(y < 0.0f));
        sums += y * y;
        // Vectors are slow to compare: after every other row.
        if (i % 2 == 0) continue;
        Mask above = (Mask)(sums > most);
        if ((above[0] & above[1] & above[2] & above[3]) == -1) return 0;
    }
    *(Eight *)distances = sums;
    return 1;
}

// By one coordinate alone, bounds of the distances from a box to the components of each of LANES
// blocks: t_i beyond the centres of all of them, in units of the largest variance of any. And
// distances from which on none of these components has more than the lowest log weight and impact.
INLINE void far_distances(const Mixture *self, ptrdiff_t first, const Box *box, double lowest,
                          double *bounds, double *limits)
{
    ptrdiff_t stride = (3 * self->n_coordinates + 2) * LANES;
    for (int half = 0; half < LANES; half += LANES / 2) {
        const double *from = self->of[BOXES] + first / LANES * stride + half;
        Four largest = {0.0}, rates = *(const Four *)(from + LANES);
        Four constants = *(const Four *)(self->largest_in_blocks + first + half);
        *(Four *)(limits + half) = distance_limits(constants, rates, lowest);
        from += 2 * LANES;
        for (ptrdiff_t i = 1; i <= self->n_coordinates; i++, from += 3 * LANES) {
            // One of the two gaps is zero.
            Four gap = not_below_zero(*(const Four *)from - box->high[i])
                       + not_below_zero(box->low[i] - *(const Four *)(from + LANES));
            Four bound = gap * gap * *(const Four *)(from + 2 * LANES);
            largest = chosen(bound > largest, bound, largest);
        }
        *(Four *)(bounds + half) = largest;
    }
}

// Components that may have more than the lowest log weight and impact somewhere in a box.
INLINE void screen(const Mixture *self, const Box *box, double lowest, Screened *screened)
{
    double bounds[LANES], limits[LANES];
    float distances[LANES];
    screened->n = 0;
    for (ptrdiff_t first = 0; first < self->b; first += LANES) {
        far_distances(self, first, box, lowest, bounds, limits);
        for (int at = 0; at < LANES && first + at < self->b; at++) {
            if (bounds[at] > limits[at]) continue;
            if (!near_distances(self, first + at, box, limits[at], distances)) continue;
            const double *numbers = self->of[NUMBERS] + (first + at) * LANES;
            for (int lane = 0; lane < LANES; lane++) {
                if (distances[lane] > limits[at] * (1.0 + ROUNDING) || numbers[lane] < 0.0) continue;
                ptrdiff_t number = (ptrdiff_t)numbers[lane];
                double own = distance_limit(self->of[LOG_CONSTANTS][number],
                                            1.0 / self->of[EXPONENTS][number],
                                            lowest - self->log_impacts[number]);
                if (!(distances[lane] > own * (1.0 + ROUNDING)))
                    screened->numbers[screened->n++] = number;
            }
        }
    }
}

// The block whose region of the coordinates holds [1, t], one of inputs side by side, by bisection.
INLINE ptrdiff_t own_block(const Mixture *self, const double *t, int width)
{
    ptrdiff_t first = 0, end = self->b;
    while (end - first > 1) {
        ptrdiff_t middle = (first + end) / 2;
        const double *split = self->of[SPLITS] + 2 * middle;
        if (t[((ptrdiff_t)split[0] + 1) * width] < split[1]) end = middle;
        else first = middle;
    }
    return first;
}

// The component of a block that seems nearest, if it seems within the limit and nearer than the
// nearest one until now.
INLINE void find_nearer(const Mixture *self, ptrdiff_t block, const Box *box, double limit,
                        double *distance, ptrdiff_t *nearest)
{
    const double *numbers = self->of[NUMBERS] + block * LANES;
    float distances[LANES];
    limit = limit < *distance ? limit : *distance;
    if (!near_distances(self, block, box, limit, distances)) return;
    for (int lane = 0; lane < LANES; lane++) {
        if (!(distances[lane] < *distance) || numbers[lane] < 0.0) continue;
        *distance = distances[lane];
        *nearest = (ptrdiff_t)numbers[lane];
    }
}

// The component that seems nearest of all that may have more than the lowest log weight.
INLINE ptrdiff_t find_nearest(const Mixture *self, const Box *box, double lowest)
{
    double distance = INFINITY, bounds[LANES], limits[LANES];
    ptrdiff_t nearest = self->k - 1;
    for (ptrdiff_t first = 0; first < self->b; first += LANES) {
        far_distances(self, first, box, lowest + self->least_impact, bounds, limits);
        for (int at = 0; at < LANES && first + at < self->b; at++)
            if (bounds[at] < distance && bounds[at] < limits[at])
                find_nearer(self, first + at, box, limits[at], &distance, &nearest);
    }
    return nearest;
}

INLINE void raise_by(const Mixture *self, const Inputs *inputs, ptrdiff_t number, int width, Large *large)
{
    double log_weight[LANES];
    if (!weigh_one(self, inputs, number, -INFINITY, width, log_weight)) return;
    for (int lane = 0; lane < width; lane++)
        if (log_weight[lane] > large[lane].log_weight) large[lane] = (Large){number, log_weight[lane]};
}

// For each input the heaviest of these: the unseen component, which is as wide as all data; those that
// seem nearest in the blocks that the inputs lie in; and, where none of these outweighs the unseen one by
// far, the one that seems nearest of all.
INLINE void find_large(const Mixture *self, const Inputs *inputs, int width, Large *large)
{
    double of_unseen[LANES];
    Box box;
    for (int lane = 0; lane < width; lane++) large[lane] = (Large){self->k - 1, -INFINITY};
    raise_by(self, inputs, self->k - 1, width, large);
    for (int lane = 0; lane < width; lane++) of_unseen[lane] = large[lane].log_weight;
    for (int lane = 0; lane < width && self->b; lane++) {
        // What weighs much at one input does at others near it.
        if (large[lane].log_weight > of_unseen[lane] + ENOUGH) continue;
        double distance = INFINITY;
        ptrdiff_t nearest = self->k - 1;
        surround(self, inputs->t + lane, 1, width, &box);
        find_nearer(self, own_block(self, inputs->t + lane, width), &box, INFINITY, &distance, &nearest);
        raise_by(self, inputs, nearest, width, large);
    }
    for (int lane = 0; lane < width; lane++) {
        if (large[lane].log_weight > of_unseen[lane] + ENOUGH) continue;
        surround(self, inputs->t + lane, 1, width, &box);
        raise_by(self, inputs, find_nearest(self, &box, large[lane].log_weight), width, large);
    }
}

// Log weight and impact below which each component is left out, at all inputs.
INLINE double lowest_of_all(const Mixture *self, const Inputs *inputs, double *means, int width)
{
    double levels[LANES], lowest = INFINITY;
    Large large[LANES];
    find_large(self, inputs, width, large);
    find_levels(self, inputs, large, means, width, levels);
    for (int lane = 0; lane < width; lane++) lowest = fmin(lowest, levels[lane]);
    return lowest - log((double)self->k);
}

#endif

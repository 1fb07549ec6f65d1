// Copyright 2026 The ilr_dynamics contributors
// SPDX-License-Identifier: Apache-2.0
//
// The predictive mixture at many inputs: those near each other share what is left out.

#ifndef ILR_DYNAMICS_MIXTURE_ROWS_H
#define ILR_DYNAMICS_MIXTURE_ROWS_H

#include <stdlib.h>

#include "screening.h"

// Components whose numbers are fetched before they are needed.
enum { AHEAD = 4 };

// A row of a batch, by the coordinates that tell most of it.
typedef struct {
    double t[MOST_COORDINATES];
    ptrdiff_t row;
} Place;

typedef struct {
    double log_weight;
    ptrdiff_t candidate;
} Rank;

// Scratch memory, for one group of inputs near each other after another.
typedef struct {
    Inputs inputs;
    Candidates candidates;
    Screened screened;
    Rank *ranks;
} Scratch;

// What to return: moments, or the components themselves, the heaviest first, of which there is room
// for so many; `needed` is the most that a row has.
typedef struct {
    double *moments, least_log_weight;
    int most_probable, all;
    ptrdiff_t room, needed;
    int64_t *numbers;
    double *log_weights, *factors, *means, *added;
} Answers;

// ---------------------------------------------------------------- rows near each other

// Move the (n + 1)-th smallest by a coordinate to its place, smaller ones before it (Hoare).
static void part_places(Place *places, ptrdiff_t n_places, ptrdiff_t n, int by)
{
    ptrdiff_t first = 0, last = n_places - 1;
    while (first < last) {
        double pivot = places[n].t[by];
        ptrdiff_t i = first, j = last;
        while (i <= j) {
            while (places[i].t[by] < pivot) i++;
            while (pivot < places[j].t[by]) j--;
            if (i > j) break;
            Place place = places[i];
            places[i++] = places[j];
            places[j--] = place;
        }
        if (j < n) first = i;
        if (n < i) last = j;
    }
}

// Order rows so that each LANES of them are near each other: halves, by the coordinate in which they
// lie farthest apart.
static void arrange(Place *places, ptrdiff_t n, int n_coordinates)
{
    if (n <= LANES) return;
    ptrdiff_t n_before = (n / 2 + LANES - 1) / LANES * LANES;
    double widest = -1.0;
    int by = 0;
    for (int i = 0; i < n_coordinates; i++) {
        double low = places[0].t[i], high = low;
        for (ptrdiff_t row = 1; row < n; row++) {
            low = places[row].t[i] < low ? places[row].t[i] : low;
            high = places[row].t[i] > high ? places[row].t[i] : high;
        }
        if (high - low > widest) {
            widest = high - low;
            by = i;
        }
    }
    part_places(places, n, n_before, by);
    arrange(places, n_before, n_coordinates);
    arrange(places + n_before, n - n_before, n_coordinates);
}

// Places of all rows; NULL, which is their own order, if there is no memory for it.
static Place *ordered(const Mixture *self, const double *x, ptrdiff_t n)
{
    ptrdiff_t m = self->m;
    Place *places = malloc((size_t)n * sizeof *places);
    if (!places) return NULL;
    for (ptrdiff_t row = 0; row < n; row++, x += m) {
        places[row].row = row;
        for (ptrdiff_t i = 0; i < self->n_coordinates; i++) {
            const double *coordinate = self->of[COORDINATES] + i * m;
            double sum = 0.0;
            for (ptrdiff_t j = 0; j < m; j++) sum += coordinate[j] / self->of[INPUT_SCALE][j] * x[j];
            places[row].t[i] = sum;
        }
    }
    arrange(places, n, (int)self->n_coordinates);
    return places;
}

// ---------------------------------------------------------------- answers

// Of each row mean, deviation and doubt (d,), weight of the unseen component and number of the
// heaviest, -1 for the unseen.
INLINE void answer_moments(const Mixture *self, Inputs *inputs, Candidates *all, int n, int width,
                           const Answers *answers)
{
    ptrdiff_t d = self->d;
    Candidate *candidates = all->candidates;
    double of_output[3][LANES];
    for (int lane = 0; lane < n; lane++) {
        ptrdiff_t best = 0;
        for (ptrdiff_t c = 1; c < all->n; c++)
            if (candidates[c].weight[lane] > candidates[best].weight[lane]) best = c;
        double *answer = answers->moments + inputs->rows[lane] * (3 * d + 2) + 3 * d;
        ptrdiff_t number = candidates[best].number;
        answer[0] = candidates[0].weight[lane];
        answer[1] = number == self->k - 1 ? -1.0 : (double)number;
        if (!answers->most_probable) continue;
        for (ptrdiff_t c = 0; c < all->n; c++) candidates[c].weight[lane] = c == best;
    }
    evaluate_all(self, inputs, all, width);
    for (ptrdiff_t j = 0; j < d; j++) {
        moments(self, inputs, all, j, width, of_output[0], of_output[1], of_output[2]);
        for (int lane = 0; lane < n; lane++)
            for (int part = 0; part < 3; part++)
                answers->moments[inputs->rows[lane] * (3 * d + 2) + part * d + j] = of_output[part][lane];
    }
}

static int by_falling_weight(const void *first, const void *second)
{
    const Rank *a = first, *b = second;
    if (a->log_weight != b->log_weight) return a->log_weight < b->log_weight ? 1 : -1;
    return (a->candidate > b->candidate) - (a->candidate < b->candidate);
}

// Components of each row, in standard units; what is left of its room has no weight.
INLINE void answer_components(const Mixture *self, Inputs *inputs, Candidates *all, Rank *ranks,
                              int n, int width, Answers *answers)
{
    ptrdiff_t d = self->d;
    double added[LANES], doubt[LANES];
    evaluate_all(self, inputs, all, width);
    for (int lane = 0; lane < n; lane++) {
        ptrdiff_t found = all->n;
        for (ptrdiff_t c = 0; c < found; c++)
            ranks[c] = (Rank){all->candidates[c].log_weight[lane], c};
        if (!answers->all) {
            qsort(ranks, (size_t)found, sizeof *ranks, by_falling_weight);
            while (found > 1 && ranks[found - 1].log_weight < answers->least_log_weight) found--;
        }
        answers->needed = found > answers->needed ? found : answers->needed;
        for (ptrdiff_t i = 0; i < answers->room; i++) {
            ptrdiff_t at = inputs->rows[lane] * answers->room + i, c = i < found ? ranks[i].candidate : 0;
            const Candidate *candidate = &all->candidates[c];
            answers->numbers[at] = candidate->number;
            answers->log_weights[at] = i < found ? candidate->log_weight[lane] : -INFINITY;
            answers->factors[at] = candidate->factor[lane];
            for (ptrdiff_t j = 0; j < d; j++) {
                added_variance(self, inputs, candidate, j, width, added, doubt);
                answers->means[at * d + j] = all->means[(c * d + j) * width + lane];
                answers->added[at * d + j] = added[lane];
            }
        }
    }
}

// ---------------------------------------------------------------- all of it

// Answers for n inputs near each other, n <= width; spare lanes repeat the last of them.
INLINE void answer_near(const Mixture *self, Scratch *scratch, const Given *given, int n, int width,
                        Answers *answers)
{
    Inputs *inputs = &scratch->inputs;
    Candidates *all = &scratch->candidates;
    Screened *screened = &scratch->screened;
    ptrdiff_t unseen = self->k - 1, length = self->m * (self->m + 3) / 2;
    for (int lane = n; lane < width; lane++) inputs->rows[lane] = inputs->rows[n - 1];
    take_inputs(self, given, width, inputs);
    all->n = 0;
    if (answers->all) {
        for (ptrdiff_t number = 0; number <= unseen; number++)
            consider(self, inputs, all, number, -INFINITY, width);
    } else {
        Box box;
        double lowest = lowest_of_all(self, inputs, all->means, width);
        surround(self, inputs->t, width, width, &box);
        screen(self, &box, lowest, screened);
        consider(self, inputs, all, unseen, -INFINITY, width);
        for (ptrdiff_t i = 0; i < screened->n; i++) {
            ptrdiff_t number = screened->numbers[i];
            if (i + AHEAD < screened->n)
                fetch(self->of[ROOTS] + screened->numbers[i + AHEAD] * length, length < 64 ? length : 64);
            consider(self, inputs, all, number, lowest - self->log_impacts[number], width);
        }
        leave_out(self, inputs, all, width);
    }
    normalise(all, width);
    if (answers->moments) answer_moments(self, inputs, all, n, width, answers);
    else answer_components(self, inputs, all, scratch->ranks, n, width, answers);
}

// One row, or many.
CLONES static void answer_rows(const Mixture *self, Scratch *scratch, const Given *given,
                               const Place *places, ptrdiff_t n, Answers *answers)
{
    if (n == 1) {
        scratch->inputs.rows[0] = 0;
        answer_near(self, scratch, given, 1, 1, answers);
        return;
    }
    for (ptrdiff_t first = 0; first < n; first += LANES) {
        int n_near = n - first < LANES ? (int)(n - first) : LANES;
        for (int lane = 0; lane < n_near; lane++)
            scratch->inputs.rows[lane] = places ? places[first + lane].row : first + lane;
        answer_near(self, scratch, given, n_near, LANES, answers);
    }
}

#endif

// Copyright 2026 The ilr_dynamics contributors
// SPDX-License-Identifier: Apache-2.0
//
// The predictive mixture at many inputs, one row after the other.

#ifndef ILR_DYNAMICS_MIXTURE_ROWS_H
#define ILR_DYNAMICS_MIXTURE_ROWS_H

#include <stdlib.h>

#include "mixture.h"

// The compiler makes what follows twice, and the loader takes what the processor can run: results
// differ by rounding alone.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("default", "arch=x86-64-v3")))
#else
#define CLONES
#endif

// What to return instead of moments: the candidates themselves, the heaviest first.
typedef struct {
    double least_log_weight;
    int all, most_probable;
    ptrdiff_t capacity;
    int64_t *numbers;
    double *log_weights, *factors, *means, *added;
} Components;

// A row of a batch and the block of components that its input lies in.
typedef struct { ptrdiff_t block, row; } Place;

static int by_block(const void *first, const void *second)
{
    const Place *a = first, *b = second;
    if (a->block != b->block) return a->block < b->block ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

// Order in which what one row has read is still at hand for the next one. Returns the first row that
// is too large, or -1.
static ptrdiff_t find_order(const Mixture *self, Scratch *scratch, const Given *given, ptrdiff_t n,
                            Place *order)
{
    for (ptrdiff_t row = 0; row < n; row++) {
        Given here = given_row(self, given, row);
        if (!standardise(self, scratch, here.of[X], here.of[FEATURES])) return row;
        order[row] = (Place){self->b ? own_block(self, scratch->t) : 0, row};
    }
    qsort(order, (size_t)n, sizeof *order, by_block);
    return -1;
}

// For each row mean, deviation and doubt (d,), weight of the unseen component and number of the
// heaviest, -1 for the unseen. Returns the first row that is too large, or -1.
CLONES static ptrdiff_t all_moments(const Mixture *self, Scratch *scratch, const Given *given,
                                    ptrdiff_t n, const Place *order, int most_probable,
                                    double *answers)
{
    ptrdiff_t d = self->d, unseen = self->k - 1;
    for (ptrdiff_t i = 0; i < n; i++) {
        ptrdiff_t row = order ? order[i].row : i;
        double *answer = answers + row * (3 * d + 2);
        Given here = given_row(self, given, row);
        if (!standardise(self, scratch, here.of[X], here.of[FEATURES])) return row;
        weigh(self, scratch, 0);
        Candidate *candidates = scratch->candidates;
        ptrdiff_t best = heaviest(scratch);
        answer[3 * d] = candidates[0].weight;
        answer[3 * d + 1] = candidates[best].number == unseen ? -1.0 : (double)candidates[best].number;
        if (most_probable) {
            candidates[0] = candidates[best];
            candidates[0].weight = 1.0;
            scratch->n_candidates = 1;
        }
        for (ptrdiff_t c = 0; c < scratch->n_candidates; c++)
            ask(self, scratch, &here, &candidates[c], scratch->means + c * d);
        for (ptrdiff_t j = 0; j < d; j++)
            moments(self, scratch, &here, j, &answer[j], &answer[d + j], &answer[2 * d + j]);
    }
    return -1;
}

static int by_falling_weight(const void *first, const void *second)
{
    const Candidate *a = first, *b = second;
    if (a->log_weight != b->log_weight) return a->log_weight < b->log_weight ? 1 : -1;
    return (a->number > b->number) - (a->number < b->number);
}

// For each row its components, in standard units. Returns how many any row has, which may be more
// than there is room for, or -1 - row of the first that is too large.
CLONES static ptrdiff_t all_components(const Mixture *self, Scratch *scratch, const Given *given,
                                       ptrdiff_t n, const Components *into)
{
    ptrdiff_t d = self->d, room = into->capacity, most = 0;
    for (ptrdiff_t row = 0; row < n; row++) {
        Given here = given_row(self, given, row);
        if (!standardise(self, scratch, here.of[X], here.of[FEATURES])) return -1 - row;
        weigh(self, scratch, into->all);
        Candidate *candidates = scratch->candidates;
        ptrdiff_t found = scratch->n_candidates;
        if (!into->all) {
            qsort(candidates, (size_t)found, sizeof *candidates, by_falling_weight);
            while (found > 1 && candidates[found - 1].log_weight < into->least_log_weight) found--;
        }
        most = found > most ? found : most;
        for (ptrdiff_t i = 0; i < room; i++) {
            ptrdiff_t at = row * room + i;
            Candidate nobody = {-INFINITY, 0.0, 1.0, 0.0, self->k - 1};
            Candidate *candidate = i < found ? &candidates[i] : &nobody;
            double doubt;
            memset(into->means + at * d, 0, (size_t)d * sizeof(double));
            if (i < found) ask(self, scratch, &here, candidate, into->means + at * d);
            into->numbers[at] = candidate->number;
            into->log_weights[at] = candidate->log_weight;
            into->factors[at] = candidate->factor;
            for (ptrdiff_t j = 0; j < d; j++)
                into->added[at * d + j] = added_variance(self, candidate, &here, j, &doubt);
        }
    }
    return most;
}

#endif

// Copyright 2026 The ilr_dynamics contributors
// SPDX-License-Identifier: Apache-2.0
//
// Arrays of Python as numbers where they lie, their shapes checked.

#ifndef ILR_DYNAMICS_MIXTURE_ARRAYS_H
#define ILR_DYNAMICS_MIXTURE_ARRAYS_H

#include "../shared/array_views.h"
#include "screening.h"

// ---------------------------------------------------------------- those of a mixture

// Letters are sizes: those of Mixture, and what follows from them.
static const struct { const char *name, *shape; } ARRAYS[N_ARRAYS] = {
    {"input_location", "m"}, {"input_scale", "m"}, {"output_location", "d"}, {"output_scale", "d"},
    {"coordinates", "mm"}, {"log_constants", "k"}, {"exponents", "k"}, {"roots", "kr"},
    {"maps", "kdq"}, {"widening_coefficients", "kw"}, {"variances", "kd"}, {"centres", "km"},
    {"extents", "km"}, {"residual_variance", "d"}, {"residual_rates", "m"}, {"splits", "b2"},
    {"numbers", "b8"}, {"first_rows", "bf4"}, {"boxes", "gc8"},
};

// Size that a letter of a shape stands for, or -1 where it is told by the array itself.
static ptrdiff_t size_of(const Mixture *self, char letter)
{
    switch (letter) {
    case 'm': return self->m ? self->m : -1;
    case 'd': return self->d ? self->d : -1;
    case 'q': return self->q ? self->q : -1;
    case 'k': return self->k ? self->k : -1;
    case 'b': return self->b;
    case 'g': return (self->b + LANES - 1) / LANES;
    case 'r': return self->m * (self->m + 3) / 2;
    case 'w': return self->q * (self->q + 1) / 2;
    case 'f': return self->n_rows * (self->n_rows + 3) / 2;
    case 'c': return 3 * self->n_coordinates + 2;
    default: return letter - '0';
    }
}

static void learn_size(Mixture *self, char letter, ptrdiff_t size)
{
    if (letter == 'm') self->m = size;
    if (letter == 'd') self->d = size;
    if (letter == 'q') self->q = size;
    if (letter == 'k') {
        self->k = size;
        self->b = (size - 1 + LANES - 1) / LANES;
        self->n_rows = self->m < MOST_ROWS ? self->m : MOST_ROWS;
        self->n_coordinates = self->m < MOST_COORDINATES ? self->m : MOST_COORDINATES;
    }
}

static int take_array(Mixture *self, int index, PyObject *array, Py_buffer *view)
{
    const char *name = ARRAYS[index].name, *shape = ARRAYS[index].shape;
    if (!view_of(array, name, "d", -1, 0, view)) return 0;
    int fits = view->ndim == (int)strlen(shape);
    for (int axis = 0; fits && axis < view->ndim; axis++) {
        ptrdiff_t size = size_of(self, shape[axis]);
        fits = size < 0 ? view->shape[axis] > 0 : view->shape[axis] == size;
        if (fits && size < 0) learn_size(self, shape[axis], view->shape[axis]);
    }
    self->of[index] = view->buf;
    if (!fits) PyErr_Format(PyExc_ValueError, "%s has a shape that does not fit the other arrays", name);
    return fits;
}

// Numbers that are used as indices, of a file that may be damaged.
static int check_indices(const Mixture *self)
{
    int are_sound = 1;
    for (ptrdiff_t i = 0; i < self->b * LANES; i++) {
        double number = self->of[NUMBERS][i];
        are_sound &= number >= -1.0 && number < (double)(self->k - 1) && number == floor(number);
    }
    for (ptrdiff_t i = 0; i < self->b; i++) {
        double coordinate = self->of[SPLITS][2 * i];
        are_sound &= coordinate >= 0.0 && coordinate < (double)self->m && coordinate == floor(coordinate);
    }
    if (!are_sound) PyErr_SetString(PyExc_ValueError, "numbers or splits hold no indices");
    return are_sound;
}

// ---------------------------------------------------------------- what is given of inputs

typedef struct {
    Py_buffer views[N_GIVEN];
    Given given;
    ptrdiff_t n;
} GivenViews;

static void release_given(GivenViews *from)
{
    for (int part = 0; part < N_GIVEN; part++) PyBuffer_Release(&from->views[part]);
}

static int take_given(const Mixture *self, PyObject *const *arguments, GivenViews *into)
{
    static const char *NAMES[N_GIVEN] = {"X", "features", "mean", "factor", "doubt", "unlearnable"};
    memset(into, 0, sizeof *into);
    for (int part = 0; part < N_GIVEN; part++) {
        ptrdiff_t width = given_width(self, part);
        int needed = part == X || (part == FEATURES && width > 0)
                     || ((part == GLOBAL_MEAN) && self->learns_residual)
                     || (part == GLOBAL_FACTOR && into->given.of[GLOBAL_MEAN]);
        if (arguments[part] == Py_None) {
            if (!needed) continue;
            PyErr_Format(PyExc_ValueError, "%s must be given", NAMES[part]);
            release_given(into);
            return 0;
        }
        ptrdiff_t n_items = part == X ? -1 : into->n * width;
        Py_buffer *view = &into->views[part];
        if (!view_of(arguments[part], NAMES[part], "d", n_items, 0, view)) {
            release_given(into);
            return 0;
        }
        into->given.of[part] = view->buf;
        if (part == X) {
            into->n = view->len / (ptrdiff_t)sizeof(double) / self->m;
            if (into->n * self->m * (ptrdiff_t)sizeof(double) != view->len) {
                PyErr_Format(PyExc_ValueError, "X must have rows of %zd numbers", self->m);
                release_given(into);
                return 0;
            }
        }
    }
    return 1;
}

#endif

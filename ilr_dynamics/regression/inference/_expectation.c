// Copyright 2026 The ilr_dynamics contributors
// SPDX-License-Identifier: Apache-2.0
//
// The E-step for Python: arrays in and out, over the mathematics in expectation.h.

#include "../shared/array_views.h"
#include "expectation.h"

#include <stdlib.h>

enum { SAMPLES, WEIGHTS, CONSTANTS, R_X, R_Y, STATISTICS, BEST, N_ARRAYS };

// Take the first of n samples (n, p) side by side; spare lanes repeat the last one, without weight.
INLINE void take_samples(const Components *self, const double *rows, const double *weights,
                         const int64_t *best, ptrdiff_t n, Samples *samples)
{
    ptrdiff_t p = self->p, one = self->q - 1;
    for (int lane = 0; lane < LANES; lane++) {
        ptrdiff_t row = lane < n ? lane : n - 1;
        const double *zeta = rows + row * p;
        double *t = samples->t + lane, *product = samples->products + lane * row_length(p);
        samples->weights[lane] = lane < n ? weights[lane] : 0.0;
        if (best[row] >= 0 && best[row] < self->k) samples->best[lane] = best[row];
        t[0] = zeta[one];
        for (ptrdiff_t j = 0; j < p; j++)
            if (j != one) t[(j < one ? j + 1 : j) * LANES] = zeta[j];
        for (ptrdiff_t i = 0; i < p; i++)
            for (ptrdiff_t j = i; j < p; j++) *product++ = zeta[i] * zeta[j];
    }
}

// Statistics of all samples; entropy is returned.
CLONES static double sum_up(const Components *self, const double *rows, const double *weights,
                            int64_t *best, ptrdiff_t n, Samples *samples)
{
    double entropy = 0.0;
    for (ptrdiff_t first = 0; first < n; first += LANES) {
        take_samples(self, rows + first * self->p, weights + first, best + first, n - first, samples);
        consider_all(self, samples);
        entropy += add_statistics(self, samples);
        for (int lane = 0; lane < LANES && first + lane < n; lane++) best[first + lane] = samples->best[lane];
    }
    return entropy;
}

// Symmetric matrix from its upper triangle.
static void unpack(const double *packed, ptrdiff_t p, double *matrix)
{
    for (ptrdiff_t i = 0; i < p; i++)
        for (ptrdiff_t j = i; j < p; j++) matrix[i * p + j] = matrix[j * p + i] = *packed++;
}

// Do all of it; 0 if there is no memory.
static int run(Components *self, const Py_buffer *views, double *entropy)
{
    ptrdiff_t m = self->m, p = self->p, k = self->k, width = row_length(p);
    ptrdiff_t length = triangle_length(m, self->q, p);
    double *memory = calloc((size_t)(LANES * (p + width + 1) + k * (width + length)), sizeof *memory);
    Candidate *candidates = malloc((size_t)k * sizeof *candidates);
    ptrdiff_t *numbers = malloc((size_t)k * sizeof *numbers);
    int has_memory = memory && candidates && numbers;
    if (has_memory) {
        const double *R_x = views[R_X].buf, *R_y = views[R_Y].buf;
        Samples samples = {.candidates = candidates, .numbers = numbers};
        // On a cache line, which vectors must not cross.
        samples.t = (double *)(((uintptr_t)memory + 63) / 64 * 64);
        samples.products = samples.t + LANES * p;
        self->statistics = samples.products + LANES * width;
        self->triangles = self->statistics + k * width;
        self->constants = views[CONSTANTS].buf;
        for (ptrdiff_t i = 0; i < k; i++)
            take_triangles(self, R_x + i * m * (m + 1), R_y + i * p * p,
                           self->triangles + i * length);
        *entropy = sum_up(self, views[SAMPLES].buf, views[WEIGHTS].buf, views[BEST].buf,
                          views[SAMPLES].shape[0], &samples);
        for (ptrdiff_t i = 0; i < k; i++)
            unpack(self->statistics + i * width, p, (double *)views[STATISTICS].buf + i * p * p);
    }
    free(memory);
    free(candidates);
    free(numbers);
    return has_memory;
}

// Buffers of the arguments, their shapes checked; 0 with an error if they do not fit together.
static int take_arrays(PyObject *const *arguments, Components *self, Py_buffer *views)
{
    static const struct { const char *name, *shape; } ARRAYS[N_ARRAYS] = {
        {"zeta", "np"}, {"weights", "n"}, {"constants", "k"}, {"R_x", "kmM"}, {"R_y", "kpp"},
        {"statistics", "kpp"}, {"best", "n"}};
    ptrdiff_t sizes[128];
    for (int i = 0; i < 128; i++) sizes[i] = -1;
    for (int index = 0; index < N_ARRAYS; index++) {
        const char *shape = ARRAYS[index].shape;
        int flags = PyBUF_ND | (index >= STATISTICS ? PyBUF_WRITABLE : 0);
        const char *format = index == BEST ? "q" : "d";
        if (!view_of(arguments[index], ARRAYS[index].name, format, -1, flags, &views[index])) return 0;
        int fits = views[index].ndim == (int)strlen(shape);
        for (int axis = 0; fits && axis < views[index].ndim; axis++) {
            ptrdiff_t *size = &sizes[(int)shape[axis]], found = views[index].shape[axis];
            if (*size < 0) *size = found;
            fits = *size == found;
            if (shape[axis] == 'm') sizes['M'] = found + 1;
        }
        if (fits) continue;
        PyErr_Format(PyExc_ValueError, "%s has a shape that does not fit the other arrays",
                     ARRAYS[index].name);
        return 0;
    }
    self->m = sizes['m'];
    self->p = sizes['p'];
    self->k = sizes['k'];
    if (self->k > 0 && self->m < self->q && self->q <= self->p) return 1;
    PyErr_SetString(PyExc_ValueError, "there must be components, and more regressors than inputs");
    return 0;
}

PyDoc_STRVAR(expect_doc,
"expect(zeta, weights, constants, R_x, R_y, statistics, best, n_regressors)\n--\n\n"
"Fill in the statistics (K, p, p) of samples (n, p), and return the entropy of their responsibilities.\n\n"
"Constants (K,) and roots are those of `expected_log_joint`. `best` (n,) is the component that each\n"
"sample is thought to belong to, -1 for any, and then the one that it does.");

static PyObject *expect_all(PyObject *module, PyObject *const *arguments, Py_ssize_t n_arguments)
{
    Py_buffer views[N_ARRAYS] = {{0}};
    Components components = {0};
    double entropy = 0.0;
    (void)module;
    if (n_arguments != N_ARRAYS + 1)
        return PyErr_Format(PyExc_TypeError, "expected %d arguments, got %zd", N_ARRAYS + 1, n_arguments);
    components.q = PyLong_AsSsize_t(arguments[N_ARRAYS]);
    if (PyErr_Occurred()) return NULL;
    if (take_arrays(arguments, &components, views)) {
        int has_memory;
        Py_BEGIN_ALLOW_THREADS
        has_memory = run(&components, views, &entropy);
        Py_END_ALLOW_THREADS
        if (!has_memory) PyErr_NoMemory();
    }
    for (int index = 0; index < N_ARRAYS; index++)
        if (views[index].obj) PyBuffer_Release(&views[index]);
    return PyErr_Occurred() ? NULL : PyFloat_FromDouble(entropy);
}

static PyMethodDef METHODS[] = {
    {"expect", (PyCFunction)(void (*)(void))expect_all, METH_FASTCALL, expect_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, .m_name = "_expectation", .m_doc = "The E-step, compiled.",
    .m_methods = METHODS};

PyMODINIT_FUNC PyInit__expectation(void) { return PyModuleDef_Init(&MODULE); }

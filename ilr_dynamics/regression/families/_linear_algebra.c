// Copyright 2026 The ilr_dynamics contributors
// SPDX-License-Identifier: Apache-2.0
//
// Triangles of many small matrices, some side by side: to call LAPACK for each of them takes longer
// than what it does. For linear_algebra.py, which says what the functions mean.

#include "../shared/array_views.h"
#include "../shared/lanes.h"

#include <math.h>
#include <stdlib.h>

// Rows of a lower triangle one behind the other, each entry of LANES matrices side by side.
INLINE ptrdiff_t entry(ptrdiff_t i, ptrdiff_t j) { return (i * (i + 1) / 2 + j) * LANES; }

// Sum over k from `first` to `end` of a_ik b_kj or, transposed, a_ik b_jk.
INLINE Lanes sum_of_products(const double *a, const double *b, ptrdiff_t i, ptrdiff_t j, ptrdiff_t first,
                             ptrdiff_t end, int transposed)
{
    Lanes sum = {{0.0}, {0.0}};
    for (ptrdiff_t k = first; k < end; k++) {
        const Lanes *x = (const Lanes *)(a + entry(i, k));
        const Lanes *y = (const Lanes *)(b + (transposed ? entry(j, k) : entry(k, j)));
        sum.low += x->low * y->low;
        sum.high += x->high * y->high;
    }
    return sum;
}

// L with L L' = A in the place of A; 0 if one of the matrices is not positive definite.
INLINE int factorise(double *a, ptrdiff_t p)
{
    int is_definite = 1;
    for (ptrdiff_t j = 0; j < p; j++) {
        Lanes *diagonal = (Lanes *)(a + entry(j, j)), sum = sum_of_products(a, a, j, j, 0, j, 1);
        double root[LANES];
        *diagonal = (Lanes){diagonal->low - sum.low, diagonal->high - sum.high};
        for (int lane = 0; lane < LANES; lane++) {
            double pivot = a[entry(j, j) + lane];
            is_definite &= pivot > 0.0;
            root[lane] = sqrt(pivot);
        }
        *diagonal = *(Lanes *)root;
        for (ptrdiff_t i = j + 1; i < p; i++) {
            Lanes *at = (Lanes *)(a + entry(i, j));
            sum = sum_of_products(a, a, i, j, 0, j, 1);
            at->low = (at->low - sum.low) / diagonal->low;
            at->high = (at->high - sum.high) / diagonal->high;
        }
    }
    return is_definite;
}

// R with R L = 1.
INLINE void invert(const double *l, ptrdiff_t p, double *r)
{
    for (ptrdiff_t i = 0; i < p; i++) {
        const Lanes *diagonal = (const Lanes *)(l + entry(i, i));
        *(Lanes *)(r + entry(i, i)) = (Lanes){1.0 / diagonal->low, 1.0 / diagonal->high};
        for (ptrdiff_t j = 0; j < i; j++) {
            Lanes sum = sum_of_products(l, r, i, j, j, i, 0);
            *(Lanes *)(r + entry(i, j)) = (Lanes){-sum.low / diagonal->low, -sum.high / diagonal->high};
        }
    }
}

// Lower triangles of n matrices, at most as many as there are lanes; of the others the last one's.
INLINE void load(const double *matrices, ptrdiff_t p, int n, double *triangles)
{
    for (int lane = 0; lane < LANES; lane++) {
        const double *from = matrices + (lane < n ? lane : n - 1) * p * p;
        for (ptrdiff_t i = 0; i < p; i++)
            for (ptrdiff_t j = 0; j <= i; j++) triangles[entry(i, j) + lane] = from[i * p + j];
    }
}

INLINE void store(const double *triangles, ptrdiff_t p, int n, double *matrices)
{
    for (int lane = 0; lane < n; lane++)
        for (ptrdiff_t i = 0; i < p; i++)
            for (ptrdiff_t j = 0; j < p; j++)
                matrices[(lane * p + i) * p + j] = j > i ? 0.0 : triangles[entry(i, j) + lane];
}

// Number of the matrices whose factors are found before one is not positive definite, or of all whose
// inverses are.
CLONES static ptrdiff_t work_on(const double *from, double *to, ptrdiff_t n, ptrdiff_t p, int inverts,
                                double *scratch)
{
    double *triangles = scratch, *inverses = scratch + entry(p, 0);
    for (ptrdiff_t first = 0; first < n; first += LANES) {
        int n_near = n - first < LANES ? (int)(n - first) : LANES;
        load(from + first * p * p, p, n_near, triangles);
        if (inverts) invert(triangles, p, inverses);
        else if (!factorise(triangles, p)) return first;
        store(inverts ? inverses : triangles, p, n_near, to + first * p * p);
    }
    return n;
}

// Matrices (n, p, p) in, and as many out; NULL with an error, or whether all of them were found.
static PyObject *work(PyObject *const *arguments, Py_ssize_t n_arguments, int inverts)
{
    Py_buffer from, to;
    if (n_arguments != 2) return PyErr_Format(PyExc_TypeError, "expected 2 arguments, got %zd", n_arguments);
    if (!view_of(arguments[0], "matrices", "d", -1, PyBUF_ND, &from)) return NULL;
    ptrdiff_t n_items = from.len / from.itemsize, p = from.ndim == 3 ? from.shape[2] : -1;
    if (p < 0 || from.shape[1] != p) {
        PyErr_SetString(PyExc_ValueError, "matrices must be of shape (n, p, p)");
        PyBuffer_Release(&from);
        return NULL;
    }
    if (!view_of(arguments[1], "triangles", "d", n_items, PyBUF_WRITABLE, &to)) {
        PyBuffer_Release(&from);
        return NULL;
    }
    double *scratch = PyMem_RawMalloc((size_t)(2 * entry(p, 0)) * sizeof(double) + 1);
    ptrdiff_t n = from.shape[0], found = -1;
    if (scratch) {
        Py_BEGIN_ALLOW_THREADS
        found = work_on(from.buf, to.buf, n, p, inverts, scratch);
        Py_END_ALLOW_THREADS
        PyMem_RawFree(scratch);
    }
    PyBuffer_Release(&from);
    PyBuffer_Release(&to);
    return found < 0 ? PyErr_NoMemory() : PyBool_FromLong(found == n);
}

PyDoc_STRVAR(cholesky_doc,
"cholesky(matrices, factors)\n--\n\nFill in the lower Cholesky factors of matrices (n, p, p), of which the\n"
"lower triangles are read. False if one is not positive definite.");

static PyObject *cholesky(PyObject *module, PyObject *const *arguments, Py_ssize_t n_arguments)
{
    (void)module;
    return work(arguments, n_arguments, 0);
}

PyDoc_STRVAR(inverse_triangular_doc,
"inverse_triangular(factors, inverses)\n--\n\nFill in the inverses of lower triangular matrices (n, p, p).");

static PyObject *inverse_triangular(PyObject *module, PyObject *const *arguments, Py_ssize_t n_arguments)
{
    (void)module;
    return work(arguments, n_arguments, 1);
}

static PyMethodDef METHODS[] = {
    {"cholesky", (PyCFunction)(void (*)(void))cholesky, METH_FASTCALL, cholesky_doc},
    {"inverse_triangular", (PyCFunction)(void (*)(void))inverse_triangular, METH_FASTCALL,
     inverse_triangular_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, .m_name = "_linear_algebra", .m_doc = "Triangles of many small matrices.",
    .m_methods = METHODS};

PyMODINIT_FUNC PyInit__linear_algebra(void) { return PyModuleDef_Init(&MODULE); }

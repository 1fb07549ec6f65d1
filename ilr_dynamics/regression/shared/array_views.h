// Copyright 2026 The ilr_dynamics contributors
// SPDX-License-Identifier: Apache-2.0
//
// Arrays of Python as numbers where they lie.

#ifndef ILR_DYNAMICS_ARRAY_VIEWS_H
#define ILR_DYNAMICS_ARRAY_VIEWS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <string.h>

// Contiguous array of this many items of this format; 0 with an error if it is none.
static int view_of(PyObject *array, const char *name, const char *format, ptrdiff_t n_items, int flags,
                   Py_buffer *view)
{
    if (PyObject_GetBuffer(array, view, flags | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) return 0;
    const char *found = view->format ? view->format : "B";
    int same = !strcmp(found, format) || (*format == 'q' && !strcmp(found, "l"));
    if (same && (n_items < 0 || view->len == n_items * view->itemsize)) return 1;
    ptrdiff_t n_found = view->len / view->itemsize;
    if (n_items < 0)
        PyErr_Format(PyExc_ValueError, "%s must hold numbers of format '%s', got %zd of '%s'", name, format,
                     n_found, found);
    else
        PyErr_Format(PyExc_ValueError, "%s must hold %zd numbers of format '%s', got %zd of '%s'", name,
                     n_items, format, n_found, found);
    PyBuffer_Release(view);
    return 0;
}

#endif

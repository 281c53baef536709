/* Products other than matmul: outer, and einsum of two operands by way of matmul. */
#include "tensor/map.h"

#include <ctype.h>
#include <string.h>

weft_tensor *weft_outer(weft_scope *s, weft_tensor *a, weft_tensor *b) {
    weft_tensor *inputs[] = {a, b};
    char sa[128], sb[128];
    if (!weft_scope_ready(s, "outer", inputs, 2))
        return NULL;
    if (a->rank != 1 || b->rank != 1)
        return weft_scope_fail(s, WEFT_E_SHAPE, "outer", "shapes %s and %s: two vectors are needed",
                               weft_shape_text(a, sa, sizeof sa),
                               weft_shape_text(b, sb, sizeof sb));
    static const weft_map_def def = {WEFT_MAP_MUL, WEFT_TYPES_NUMBER, false};
    return weft_map2(s, "outer", &def, weft_tensor_unsqueeze(s, a, 1), b, true);
}

/* ---- einsum ---- */

typedef struct labels {
    char of[WEFT_MAX_RANK + 1]; /* a letter a dim */
    int n;
} labels;

static int find(const labels *l, char letter) {
    for (int i = 0; i < l->n; i++)
        if (l->of[i] == letter)
            return i;
    return -1;
}

/* Letters up to one of `ends`; NULL: something else stands there, or too many. */
static const char *take_labels(const char *p, labels *l, char end) {
    l->n = 0;
    for (; *p != end; p++) {
        if (*p == ' ')
            continue;
        if (!isalpha((unsigned char)*p) || l->n == WEFT_MAX_RANK)
            return NULL;
        l->of[l->n++] = *p;
    }
    return p;
}

/* "ab,bc->ac": each letter of the result once, and in an operand. */
static bool parse(weft_scope *s, const char *spec, labels in[2], labels *out) {
    const char *p = spec ? take_labels(spec, &in[0], ',') : NULL;
    p = p ? take_labels(p + 1, &in[1], '-') : NULL;
    bool fine = p && p[1] == '>' && take_labels(p + 2, out, '\0') != NULL;
    for (int i = 0; fine && i < out->n; i++)
        fine = find(out, out->of[i]) == i &&
               (find(&in[0], out->of[i]) >= 0 || find(&in[1], out->of[i]) >= 0);
    if (!fine)
        weft_scope_fail(s, WEFT_E_ARGUMENT, "einsum", "\"%s\" is not of the kind ab,bc->ac",
                        spec ? spec : "");
    return fine;
}

/* Takes diagonals of letters that come twice and sums those that nobody else has. */
static weft_tensor *simplify(weft_scope *s, weft_tensor *t, labels *l, const labels *other,
                             const labels *out) {
    for (int i = 0; i < l->n; i++) {
        int j = i + 1;
        while (j < l->n && l->of[j] != l->of[i])
            j++;
        if (j == l->n)
            continue;
        if (t->dims[i] != t->dims[j]) {
            char shape[128];
            return weft_scope_fail(s, WEFT_E_SHAPE, "einsum", "dims %d and %d of %s are both %c", i,
                                   j, weft_shape_text(t, shape, sizeof shape), l->of[i]);
        }
        char letter = l->of[i];
        t = weft_tensor_diagonal(s, t, 0, i, j);
        memmove(l->of + j, l->of + j + 1, (size_t)(l->n - j - 1));
        memmove(l->of + i, l->of + i + 1, (size_t)(l->n - i - 2));
        l->n--;
        l->of[l->n - 1] = letter;
        i = -1; /* letters have moved */
    }
    int alone[WEFT_MAX_RANK], n_alone = 0, n = 0;
    for (int i = 0; i < l->n; i++) {
        if (find(other, l->of[i]) < 0 && find(out, l->of[i]) < 0)
            alone[n_alone++] = i;
        else
            l->of[n++] = l->of[i];
    }
    l->n = n;
    if (t == NULL || n_alone == 0)
        return t;
    weft_dtype dtype = t->dtype;
    t = weft_sum_dims(s, t, alone, n_alone, false);
    return t && t->dtype != dtype ? weft_cast(s, t, dtype) : t; /* sums of integers are i64 */
}

/* Letters by their part in the product. */
typedef struct parts {
    labels batch, rows, sums, cols;
} parts;

static void add_label(labels *l, char letter) {
    l->of[l->n++] = letter;
}

static bool sort_labels(weft_scope *s, weft_tensor *const t[2], const labels in[2],
                        const labels *out, parts *p) {
    *p = (parts){0};
    for (int i = 0; i < in[0].n; i++) {
        char letter = in[0].of[i];
        int j = find(&in[1], letter);
        if (j < 0) {
            add_label(&p->rows, letter);
            continue;
        }
        if (t[0]->dims[i] != t[1]->dims[j]) {
            char sa[128], sb[128];
            weft_scope_fail(s, WEFT_E_SHAPE, "einsum", "%s and %s differ in %c, dims %d and %d",
                            weft_shape_text(t[0], sa, sizeof sa),
                            weft_shape_text(t[1], sb, sizeof sb), letter, i, j);
            return false;
        }
        add_label(find(out, letter) >= 0 ? &p->batch : &p->sums, letter);
    }
    for (int j = 0; j < in[1].n; j++)
        if (find(&in[0], in[1].of[j]) < 0)
            add_label(&p->cols, in[1].of[j]);
    if (p->batch.n + p->rows.n + p->cols.n <= WEFT_MAX_RANK)
        return true;
    weft_scope_fail(s, WEFT_E_SHAPE, "einsum", "the result's rank is above %d", WEFT_MAX_RANK);
    return false;
}

/* The operand as [batch, first, second], each letters' dims in a row. */
static weft_tensor *as_matrices(weft_scope *s, weft_tensor *t, const labels *l,
                                const labels *const groups[3]) {
    int axes[WEFT_MAX_RANK], n = 0;
    int64_t dims[3] = {1, 1, 1};
    for (int g = 0; g < 3; g++)
        for (int i = 0; i < groups[g]->n; i++) {
            axes[n] = find(l, groups[g]->of[i]);
            dims[g] *= t->dims[axes[n++]]; /* fits: together they are t's elements */
        }
    return weft_tensor_reshape_copy(s, weft_tensor_permute(s, t, axes), 3, dims);
}

weft_tensor *weft_einsum(weft_scope *s, const char *spec, weft_tensor *a, weft_tensor *b) {
    weft_tensor *t[2] = {a, b};
    labels in[2], out, made = {0};
    parts p;
    char shape[128];
    if (!weft_scope_ready(s, "einsum", t, 2) || !parse(s, spec, in, &out) ||
        !weft_op_types(s, "einsum", a, WEFT_TYPES_NUMBER) ||
        !weft_op_types(s, "einsum", b, WEFT_TYPES_NUMBER) || !weft_op_same_dtype(s, "einsum", a, b))
        return NULL;
    for (int i = 0; i < 2; i++)
        if (t[i]->rank != in[i].n)
            return weft_scope_fail(s, WEFT_E_SHAPE, "einsum", "\"%s\" names %d dims for %s", spec,
                                   in[i].n, weft_shape_text(t[i], shape, sizeof shape));
    t[0] = simplify(s, t[0], &in[0], &in[1], &out);
    t[1] = simplify(s, t[1], &in[1], &in[0], &out);
    if (t[0] == NULL || t[1] == NULL || !sort_labels(s, t, in, &out, &p))
        return NULL;
    int64_t dims[WEFT_MAX_RANK];
    const labels *order[] = {&p.batch, &p.rows, &p.cols};
    for (int g = 0; g < 3; g++)
        for (int i = 0; i < order[g]->n; i++) {
            int at = find(&in[0], order[g]->of[i]);
            dims[made.n] = at >= 0 ? t[0]->dims[at] : t[1]->dims[find(&in[1], order[g]->of[i])];
            made.of[made.n++] = order[g]->of[i];
        }
    const labels *left[] = {&p.batch, &p.rows, &p.sums}, *right[] = {&p.batch, &p.sums, &p.cols};
    weft_tensor *y =
        weft_matmul(s, as_matrices(s, t[0], &in[0], left), as_matrices(s, t[1], &in[1], right));
    y = weft_tensor_reshape(s, y, made.n, dims);
    int axes[WEFT_MAX_RANK];
    for (int i = 0; i < out.n; i++)
        axes[i] = find(&made, out.of[i]);
    return weft_tensor_contiguous(s, weft_tensor_permute(s, y, axes));
}

/* The tutorial of docs/tensor.md as one program: the test of the page compiles and runs it. Each
 * function is a section; the lines between the marks stand in the page as they are here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/ops.h>
#include <weft/tensor.h>

static void require(int condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "tensor: %s\n", what);
    exit(1);
}

static void first_steps(weft_engine *engine) {
    /* [first] */
    weft_scope *s;
    weft_scope_create(engine, WEFT_SCOPE_HEAP, &s);
    float numbers[] = {1, 2, 3, 4, 5, 6};
    int64_t dims[] = {2, 3};
    weft_tensor *a = weft_from_data(s, WEFT_F32, 2, dims, numbers, sizeof numbers);
    weft_tensor *y = weft_softmax(s, weft_mul_scalar(s, a, 2), -1);
    weft_tensor *row_sums = weft_sum(s, y, 1, false);
    if (weft_scope_status(s) != WEFT_OK)
        printf("%s\n", weft_scope_detail(s));
    float sums[2];
    weft_tensor_read(row_sums, sums, sizeof sums);
    weft_scope_release(&s);
    /* [end] */
    require(sums[0] > 0.999f && sums[0] < 1.001f, "rows of a softmax add up to 1");
}

static void borrow_and_share(weft_engine *engine) {
    weft_scope *s;
    int64_t dims[] = {4, 4};
    weft_scope_create(engine, WEFT_SCOPE_HEAP, &s);
    /* [share] */
    weft_tensor *m = weft_zeros(s, WEFT_F32, 2, dims); /* borrowed from the scope */
    weft_tensor *row = weft_tensor_select(s, m, 0, 1); /* a view: 0 bytes copied */
    weft_tensor *apart = weft_tensor_copy(s, row);     /* 4 elements of its own */
    float *data;
    weft_tensor_map_write(row, (void **)&data); /* locks, and gives the address */
    data[0] = 7;
    weft_tensor_unmap(row);
    weft_tensor *kept = weft_tensor_retain(m); /* the same tensor, beyond the scope */
    /* [end] */
    float whole[16], own[4];
    weft_tensor_read(m, whole, sizeof whole);
    weft_tensor_read(apart, own, sizeof own);
    require(whole[4] == 7, "a write through a view is seen in its base");
    require(own[0] == 0, "but not in a copy");
    weft_scope_release(&s);
    require(weft_tensor_numel(kept) == 16, "a retained tensor outlives its scope");
    weft_tensor_release(&kept);
}

static void views(weft_engine *engine) {
    weft_scope *s;
    weft_scope_create(engine, WEFT_SCOPE_HEAP, &s);
    /* [views] */
    weft_tensor *x = weft_arange(s, WEFT_I32, 12, 0, 1);
    weft_tensor *m = weft_tensor_reshape(s, x, 2, (int64_t[]){3, -1}); /* [3, 4] */
    weft_tensor *back = weft_tensor_slice(s, m, 1, 3, -1, -1);         /* m[:, ::-1] */
    weft_tensor *windows = weft_tensor_unfold(s, x, 0, 4, 2);          /* [5, 4], overlapping */
    weft_tensor *diagonal = weft_tensor_diagonal(s, m, 0, 0, 1);       /* [3] */
    weft_tensor *best = weft_max_dims(s, windows, (int[]){0, 1}, 2, false);
    char text[200];
    weft_tensor_text(back, NULL, text, sizeof text);
    /* [end] */
    require(strcmp(text, "[[ 3,  2,  1,  0],\n [ 7,  6,  5,  4],\n [11, 10,  9,  8]]") == 0, text);
    int32_t three[3], one;
    weft_tensor_read(diagonal, three, sizeof three);
    weft_tensor_read(best, &one, sizeof one);
    require(three[2] == 10 && one == 11, "diagonal and windows");
    weft_scope_release(&s);
}

static void into_a_cache(weft_engine *engine) {
    weft_scope *s;
    weft_scope_create(engine, WEFT_SCOPE_HEAP, &s);
    /* [cache] */
    weft_tensor *cache = weft_zeros(s, WEFT_F16, 3, (int64_t[]){64, 2, 4}); /* positions first */
    weft_tensor *k = weft_ones(s, WEFT_F32, 3, (int64_t[]){1, 2, 4});       /* one position */
    weft_slice_set(s, cache, weft_cast(s, k, WEFT_F16), 0, 10);             /* row 10 */
    weft_tensor *seen = weft_tensor_narrow(s, cache, 0, 0, 11);             /* a view of it */
    /* [end] */
    require(weft_scope_status(s) == WEFT_OK, "append");
    weft_tensor *sum = weft_sum_dims(s, weft_cast(s, seen, WEFT_F32), NULL, 0, false);
    float total;
    weft_tensor_read(sum, &total, sizeof total);
    require(total == 8, "eight ones were appended");
    /* [same] */
    weft_tensor *first = weft_tensor_narrow(s, cache, 0, 0, 1);
    weft_status status = weft_slice_set(s, cache, first, 0, 20); /* WEFT_E_SAME_STORAGE */
    weft_scope_reset(s); /* clears the error, drops results */
    /* [end] */
    require(status == WEFT_E_SAME_STORAGE, "a storage into itself");
    weft_scope_release(&s);
}

static void steps_in_an_arena(weft_engine *engine) {
    weft_tensor *weights = NULL;
    weft_scope *keep;
    weft_scope_create(engine, WEFT_SCOPE_HEAP, &keep);
    weights = weft_random_normal(keep, WEFT_F32, 2, (int64_t[]){8, 8}, 0, 1, 42);
    float last = 0;
    /* [arena] */
    weft_scope *step;
    weft_scope_create(engine, WEFT_SCOPE_ARENA, &step);
    for (int i = 0; i < 100; i++) {
        weft_tensor *x = weft_full(step, WEFT_F32, 2, (int64_t[]){1, 8}, i);
        weft_tensor *y = weft_tanh(step, weft_matmul(step, x, weights));
        weft_tensor *most = weft_max_dims(step, y, NULL, 0, false);
        weft_tensor_read(most, &last, sizeof last);
        weft_scope_reset(step); /* once it has grown: no allocation at all */
    }
    weft_scope_release(&step);
    /* [end] */
    require(last > 0.99f, "tanh of great numbers");
    weft_scope_release(&keep);
}

int main(void) {
    weft_engine *engine;
    if (weft_engine_create(NULL, &engine) != WEFT_OK)
        return 1;
    first_steps(engine);
    borrow_and_share(engine);
    views(engine);
    into_a_cache(engine);
    steps_in_an_arena(engine);
    weft_engine_release(&engine);
    puts("all sections of docs/tensor.md hold");
    return 0;
}

/* Timing leaves nothing out: every kernel of the list that this machine can run has its line, with
 * the variant's name and a time. */
#include <weft/extra/bench.h>
#include "kernels_test.h"
#include "base/alloc.h"
#include "tensor/kernels/time_kernels.h"

typedef struct listed {
    const char *name;
    weft_isa isa;
    size_t lines;
} listed;

#define KERNEL_SCALAR(entry, name) {#name, WEFT_ISA_SCALAR, 0},
#define KERNEL_AVX2(entry, name) {#name, WEFT_ISA_AVX2, 0},
#define KERNEL_AVXVNNI(entry, name) {#name, WEFT_ISA_AVXVNNI, 0},
#define KERNEL_AVX512(entry, name) {#name, WEFT_ISA_AVX512, 0},
#define KERNEL_VNNI(entry, name) {#name, WEFT_ISA_VNNI, 0},
#define KERNEL_VBMI(entry, name) {#name, WEFT_ISA_VBMI, 0},
#define KERNEL_BF16(entry, name) {#name, WEFT_ISA_BF16, 0},
#define KERNEL_AMX(entry, name) {#name, WEFT_ISA_AMX, 0},
#define KERNEL_NEON(entry, name) {#name, WEFT_ISA_NEON, 0},
#define KERNEL_DOTPROD(entry, name) {#name, WEFT_ISA_DOTPROD, 0},
#define KERNEL_I8MM(entry, name) {#name, WEFT_ISA_I8MM, 0},
static listed kernels[] = {
#include "tensor/kernels/kernels.list"
};

static bool count_line(void *ctx, const weft_kernel_time *time) {
    (void)ctx;
    assert_true(time->seconds > 0);
    for (size_t i = 0; i < N_ITEMS(kernels); i++)
        if (!strcmp(kernels[i].name, time->name)) {
            assert_string_equal(time->variant, weft_isa_name(kernels[i].isa));
            kernels[i].lines++;
        }
    return true;
}

static void test_every_kernel_is_timed(void **state) {
    (void)state;
    weft_allocator a = weft_allocator_system();
    assert_int_equal(weft_kernels_time(&a, NULL, 0, count_line, NULL), WEFT_OK);
    for (size_t i = 0; i < N_ITEMS(kernels); i++) {
        bool runs = weft_kernels_of(kernels[i].isa) && weft_cpu_has(kernels[i].isa);
        if (runs != (kernels[i].lines > 0))
            fail_msg("%s has %zu lines", kernels[i].name, kernels[i].lines);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_kernel_is_timed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

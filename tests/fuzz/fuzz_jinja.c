/* libFuzzer target: the template renderer on any template (up to a NUL byte) and any variables
 * (what follows; a conversation when there is none). Bounds are small, so that runs are short. */
#include "base/alloc.h"
#include "text/jinja/jinja.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char conversation[] =
    "{\"messages\": [{\"role\": \"system\", \"content\": \" S \"}, {\"role\": \"user\", "
    "\"content\": "
    "\"U\\u00e9\"}, {\"role\": \"assistant\", \"content\": null, \"tool_calls\": [{\"function\": "
    "{\"name\": \"f\", \"arguments\": {\"a\": [1, 2.5, true]}}}]}], \"tools\": [{\"type\": "
    "\"function\", \"function\": {\"name\": \"f\"}}], \"n\": 3, \"s\": \"a,b c\", \"l\": [3, 1, "
    "2]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    const char *end = size ? memchr(text, 0, size) : NULL;
    size_t n = end ? (size_t)(end - text) : size;
    weft_allocator a = weft_allocator_system();
    jinja_error error;
    jinja_template *t = jinja_parse(&a, size ? text : "", n, &error);
    if (!t) {
        if (error.kind != JINJA_SYNTAX)
            abort();
        return 0;
    }
    jinja_input input = {.object = end ? end + 1 : conversation,
                         .object_bytes = end ? size - n - 1 : sizeof conversation - 1,
                         .bos_token = "<s>",
                         .bos_bytes = 3,
                         .now = {.tm_year = 126, .tm_mday = 1}};
    jinja_limits limits = {
        .steps = 100000, .output_bytes = 1 << 20, .memory_bytes = 16 << 20, .depth = 300};
    char *out = NULL;
    size_t n_out = 0;
    if (jinja_render(t, &input, &limits, &out, &n_out, &error)) {
        if (strlen(out) > n_out)
            abort();
        weft_dealloc(&a, out, n_out + 1);
    } else if (error.kind == JINJA_NO_ERROR || error.kind == JINJA_SYNTAX) {
        abort();
    }
    jinja_free(t);
    return 0;
}

/* make_tiny_model PATH [q8_0] [chat] [adds_bos] [no_bos]: the tiny model for the command's tests.
 */
#include "tiny_model.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    tiny_options o = {0};
    for (int i = 2; i < argc; i++) {
        o.q8_0 |= strcmp(argv[i], "q8_0") == 0;
        o.chat |= strcmp(argv[i], "chat") == 0;
        o.adds_bos |= strcmp(argv[i], "adds_bos") == 0;
        o.no_bos |= strcmp(argv[i], "no_bos") == 0;
    }
    if (argc > 1 && tiny_model_write(argv[1], &o))
        return 0;
    fprintf(stderr, "make_tiny_model: cannot write %s\n", argc > 1 ? argv[1] : "without a path");
    return 1;
}

/* See plain.h. UTF-8 by the lengths and first bytes of its sequences (Unicode, table 3-7). */
#include "text/grammar/plain.h"
#include "text/grammar/trie.h"

#define MANY 32

/* After a first byte: where the second may lie, and how many follow that. */
typedef struct lead {
    uint8_t first, last, low, high, more;
} lead;

static const lead leads[] = {
    {0xc2, 0xdf, 0x80, 0xbf, 0}, {0xe0, 0xe0, 0xa0, 0xbf, 1}, {0xe1, 0xec, 0x80, 0xbf, 1},
    {0xed, 0xed, 0x80, 0x9f, 1}, {0xee, 0xef, 0x80, 0xbf, 1}, {0xf0, 0xf0, 0x90, 0xbf, 2},
    {0xf1, 0xf3, 0x80, 0xbf, 2}, {0xf4, 0xf4, 0x80, 0x8f, 2},
};

/* Configurations inside of a character that were found to lead to `next` only. */
typedef struct inside {
    uint32_t next;
    uint64_t known[MANY];
    size_t n_known;
} inside;

/* Whether all ways through the rest of a character lead to `next`. */
static bool all_lead(weft_machine *m, inside *in, uint32_t config, uint8_t low, uint8_t high,
                     uint8_t more) {
    uint64_t key = (uint64_t)config << 24 | (uint64_t)low << 16 | (uint64_t)high << 8 | more;
    for (size_t i = 0; i < in->n_known; i++)
        if (in->known[i] == key)
            return true;
    for (unsigned b = low; b <= high; b++) {
        uint32_t after = weft_machine_step(m, config, (uint8_t)b);
        if (more == 0 ? after != in->next
                      : !after || !all_lead(m, in, after, 0x80, 0xbf, (uint8_t)(more - 1)))
            return false;
    }
    if (in->n_known < MANY)
        in->known[in->n_known++] = key;
    return true;
}

/* Whether any plain character leads to the same configuration, which may be none (0). */
static bool one_character(weft_machine *m, uint32_t config, uint32_t *next) {
    inside in = {.next = weft_machine_step(m, config, ' ')};
    *next = in.next;
    for (unsigned b = 0x21; b < 0x7f; b++)
        if (b != '"' && b != '\\' && weft_machine_step(m, config, (uint8_t)b) != in.next)
            return false;
    for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++)
        for (unsigned b = leads[i].first; b <= leads[i].last; b++) {
            uint32_t after = weft_machine_step(m, config, (uint8_t)b);
            if (in.next == 0 ? after != 0
                             : !after || !all_lead(m, &in, after, leads[i].low, leads[i].high,
                                                   leads[i].more))
                return false;
        }
    return true;
}

bool weft_plain_run(weft_machine *m, uint32_t config, size_t *n) {
    for (*n = 0; *n < WEFT_PLAIN_CHARACTERS && !m->status; ++*n) {
        uint32_t next;
        if (!one_character(m, config, &next))
            return false;
        if (next == 0)
            return *n > 0;
        if (weft_machine_ends(m, next))
            return false;
        if (next == config)
            *n = WEFT_PLAIN_CHARACTERS - 1;
        config = next;
    }
    return !m->status;
}

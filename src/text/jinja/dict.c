/* Dicts: entries in the order of insertion, found by an index once there are more than a few. */
#include <math.h>
#include <string.h>
#include "text/jinja/impl.h"

#define FEW 8

static uint32_t hash_bytes(const char *text, size_t n) {
    uint32_t h = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h ^ h >> 15;
}

static uint32_t hash_int(uint64_t i) {
    return (uint32_t)((i * 0x9e3779b97f4a7c15u) >> 32);
}

/* Values that are equal hash alike: 1, 1.0 and true. False: the type has no hash. */
static bool hash_of(jinja_value key, uint32_t *hash) {
    switch (key.type) {
    case JINJA_STRING:
    case JINJA_BIG:
        *hash = hash_bytes(key.as.s.text, key.as.s.n);
        return true;
    case JINJA_BOOL:
    case JINJA_INT:
        *hash = hash_int(key.type == JINJA_INT ? (uint64_t)key.as.i : (uint64_t)key.as.b);
        return true;
    case JINJA_FLOAT:
        if (fabs(key.as.f) < 9e18 && floor(key.as.f) == key.as.f)
            *hash = hash_int((uint64_t)(int64_t)key.as.f);
        else
            *hash = hash_bytes((const char *)&key.as.f, sizeof key.as.f);
        return true;
    case JINJA_NONE:
        *hash = 1;
        return true;
    default:
        return false;
    }
}

static bool same_key(const jinja_entry *e, jinja_value key, uint32_t hash) {
    if (e->hash != hash)
        return false;
    if (key.type == JINJA_STRING || e->key.type == JINJA_STRING)
        return key.type == e->key.type && jinja_same(e->key.as.s, key.as.s);
    if (key.type == JINJA_NONE || e->key.type == JINJA_NONE)
        return key.type == e->key.type;
    if (key.type == JINJA_BIG || e->key.type == JINJA_BIG)
        return key.type == e->key.type && jinja_same(e->key.as.s, key.as.s);
    return jinja_number(key) == jinja_number(e->key);
}

/* The entry of a key, SIZE_MAX: none. *probes counts what was looked at. */
static size_t look_up(const jinja_dict *d, jinja_value key, uint32_t hash, size_t *probes) {
    if (!d->slots) {
        for (size_t i = 0; i < d->n; i++)
            if (same_key(&d->entries[i], key, hash))
                return i;
        return SIZE_MAX;
    }
    size_t mask = d->n_slots - 1;
    for (size_t at = hash & mask; d->slots[at]; at = (at + 1) & mask) {
        ++*probes;
        if (same_key(&d->entries[d->slots[at] - 1], key, hash))
            return d->slots[at] - 1;
    }
    return SIZE_MAX;
}

static void fill_slots(jinja_dict *d) {
    memset(d->slots, 0, d->n_slots * sizeof *d->slots);
    for (size_t i = 0; i < d->n; i++) {
        size_t at = d->entries[i].hash & (d->n_slots - 1);
        while (d->slots[at])
            at = (at + 1) & (d->n_slots - 1);
        d->slots[at] = (uint32_t)i + 1;
    }
}

static bool index_dict(jinja *j, jinja_dict *d) {
    size_t n = d->n_slots ? d->n_slots * 4 : 64;
    uint32_t *slots = jinja_alloc(j, n * sizeof *slots);
    if (!slots)
        return false;
    d->slots = slots;
    d->n_slots = n;
    fill_slots(d);
    return jinja_spend(j, d->n / 8);
}

jinja_dict *jinja_new_dict(jinja *j) {
    jinja_dict *d = jinja_alloc(j, sizeof *d);
    if (d)
        *d = (jinja_dict){0};
    return d;
}

jinja_value *jinja_dict_get(jinja *j, const jinja_dict *d, jinja_value key) {
    uint32_t hash;
    size_t probes = 0;
    if (key.type == JINJA_UNDEFINED)
        return NULL;
    if (!hash_of(key, &hash)) {
        jinja_fail(j, JINJA_RUNTIME, "unhashable type: '%s'", jinja_type_name(key));
        return NULL;
    }
    size_t i = look_up(d, key, hash, &probes);
    return jinja_spend(j, probes) && i != SIZE_MAX ? &d->entries[i].value : NULL;
}

jinja_value *jinja_dict_find(const jinja_dict *d, jinja_string key) {
    size_t probes = 0;
    size_t i = look_up(d, jinja_str(key), hash_bytes(key.text, key.n), &probes);
    return i == SIZE_MAX ? NULL : &d->entries[i].value;
}

bool jinja_dict_set(jinja *j, jinja_dict *d, jinja_value key, jinja_value value) {
    jinja_value *old = jinja_dict_get(j, d, key);
    if (old)
        *old = value;
    if (old || j->failed)
        return !j->failed;
    uint32_t hash = 0;
    if (!hash_of(key, &hash) || d->n >= UINT32_MAX / 2) {
        jinja_fail(j, JINJA_RUNTIME, "unhashable type: '%s'", jinja_type_name(key));
        return false;
    }
    if (d->n == d->room) {
        size_t room = d->room ? d->room * 2 : 4;
        jinja_entry *more = jinja_grow(j, d->entries, d->n * sizeof *more, room * sizeof *more);
        if (!more)
            return false;
        d->entries = more;
        d->room = room;
    }
    d->entries[d->n++] = (jinja_entry){key, value, hash};
    if (d->n > FEW && d->n * 2 > d->n_slots)
        return index_dict(j, d);
    if (d->slots) {
        size_t at = hash & (d->n_slots - 1);
        while (d->slots[at])
            at = (at + 1) & (d->n_slots - 1);
        d->slots[at] = (uint32_t)d->n;
    }
    return true;
}

bool jinja_dict_remove(jinja *j, jinja_dict *d, jinja_value key) {
    const jinja_value *value = jinja_dict_get(j, d, key);
    if (!value || !jinja_spend(j, d->n))
        return false;
    const jinja_entry *e = d->entries;
    while (&e->value != value)
        e++;
    size_t i = (size_t)(e - d->entries);
    memmove(d->entries + i, d->entries + i + 1, (d->n - i - 1) * sizeof *d->entries);
    d->n--;
    if (d->slots)
        fill_slots(d);
    return true;
}

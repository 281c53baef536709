/* The memory limit: physical memory, and cgroups as the process sees them under /sys/fs/cgroup. */
#include "model/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A number in a file; UINT64_MAX for "max", for nonsense and for no file. */
static uint64_t limit_in(const char *path) {
    char text[64];
    uint64_t limit = UINT64_MAX;
    FILE *f = fopen(path, "re");
    if (!f)
        return limit;
    if (fgets(text, sizeof text, f) && text[0] >= '0' && text[0] <= '9')
        limit = strtoull(text, NULL, 10);
    fclose(f);
    return limit;
}

/* The least limit of the cgroup `path` and of those above it. */
static uint64_t least_upwards(const char *root, const char *path, const char *file) {
    char dir[1024], full[1280];
    uint64_t least = UINT64_MAX;
    snprintf(dir, sizeof dir, "%s", path);
    for (;;) {
        snprintf(full, sizeof full, "%s%s/%s", root, dir, file);
        uint64_t limit = limit_in(full);
        least = limit < least ? limit : least;
        char *slash = strrchr(dir, '/');
        if (!slash || dir[0] == 0)
            return least;
        *slash = 0;
    }
}

static uint64_t cgroup_limit(void) {
    char line[1024];
    uint64_t least = UINT64_MAX;
    FILE *f = fopen("/proc/self/cgroup", "re");
    if (!f)
        return least;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        uint64_t limit = UINT64_MAX;
        if (controllers[1] == 0)
            limit = least_upwards("/sys/fs/cgroup", path, "memory.max");
        else if (strstr(controllers + 1, "memory"))
            limit = least_upwards("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes");
        least = limit < least ? limit : least;
    }
    fclose(f);
    return least;
}

uint64_t weft_memory_limit(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t physical = UINT64_MAX, cgroup = cgroup_limit();
    if (pages > 0 && page_bytes > 0)
        physical = (uint64_t)pages * (uint64_t)page_bytes;
    return physical < cgroup ? physical : cgroup;
}

/* How many threads pay: physical cores within the affinity mask and the cgroup quota. */
#include "base/team.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CPUS 4096

/* First line of a small file into buf, without its newline; false if it can't be read. */
static bool read_line(const char *path, char *buf, size_t room) {
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool ok = fgets(buf, (int)room, file) != NULL;
    fclose(file);
    if (ok)
        buf[strcspn(buf, "\n")] = 0;
    return ok;
}

/* The first sibling of a CPU stands for its core: "0,64" and "0-1" both give 0. */
static int first_sibling(int cpu) {
    char path[128], line[256];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    return read_line(path, line, sizeof line) ? atoi(line) : cpu;
}

/* The CPUs of the affinity mask into `out` (room for MAX_CPUS; NULL: counted only), first one of
 * each core, then, unless only `cores` are asked for, the others. How many there are. */
static int allowed(bool cores, int *out) {
    cpu_set_t *mask = CPU_ALLOC(MAX_CPUS);
    if (!mask)
        return 0;
    size_t size = CPU_ALLOC_SIZE(MAX_CPUS);
    unsigned char seen[MAX_CPUS] = {0}, taken[MAX_CPUS] = {0};
    int n = 0;
    bool known = sched_getaffinity(0, size, mask) == 0;
    for (int others = 0; known && others < (cores ? 1 : 2); others++)
        for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
            if (!CPU_ISSET_S((size_t)cpu, size, mask) || taken[cpu])
                continue;
            int core = others ? cpu : first_sibling(cpu);
            if (core < 0 || core >= MAX_CPUS)
                core = cpu;
            if (!others && seen[core])
                continue;
            seen[core] = taken[cpu] = 1;
            if (out)
                out[n] = cpu;
            n++;
        }
    CPU_FREE(mask);
    return n;
}

int weft_team_cpu(int i) {
    int cpus[MAX_CPUS], n = allowed(false, cpus);
    return i >= 0 && i < n ? cpus[i] : -1;
}

/* CPUs' worth of time that one cgroup directory grants; 0: no limit there. */
static int quota_v2(const char *directory) {
    char path[4200], line[128];
    snprintf(path, sizeof path, "%s/cpu.max", directory);
    long long quota, period;
    if (!read_line(path, line, sizeof line) || sscanf(line, "%lld %lld", &quota, &period) != 2 ||
        quota <= 0 || period <= 0)
        return 0;
    return (int)((quota + period - 1) / period);
}

static int quota_v1(const char *directory) {
    char path[4200], quota_line[64], period_line[64];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", directory);
    if (!read_line(path, quota_line, sizeof quota_line))
        return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", directory);
    if (!read_line(path, period_line, sizeof period_line))
        return 0;
    long long quota = atoll(quota_line), period = atoll(period_line);
    return quota > 0 && period > 0 ? (int)((quota + period - 1) / period) : 0;
}

/* The smallest limit from a group up to the root of its hierarchy; 0: none. */
static int smallest_quota(const char *mount, const char *group, int (*quota)(const char *)) {
    char directory[4150];
    int least = 0;
    snprintf(directory, sizeof directory, "%s%s", mount, group);
    for (;;) {
        int n = quota(directory);
        if (n > 0 && (least == 0 || n < least))
            least = n;
        if (strlen(directory) <= strlen(mount))
            return least;
        char *slash = strrchr(directory, '/');
        if (!slash)
            return least;
        *slash = 0;
    }
}

/* /proc/self/cgroup has lines "id:controllers:path"; v2's id is 0 and its controllers are empty. */
static int cgroup_quota(void) {
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file)
        return 0;
    int least = 0;
    char line[4096];
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        int n = 0;
        if (controllers[1] == 0)
            n = smallest_quota("/sys/fs/cgroup", group, quota_v2);
        else if (strstr(controllers, "cpu"))
            n = smallest_quota("/sys/fs/cgroup/cpu", group, quota_v1);
        if (n > 0 && (least == 0 || n < least))
            least = n;
    }
    fclose(file);
    return least;
}

static int within_quota(int n) {
    int quota = cgroup_quota();
    n = quota > 0 && quota < n ? quota : n;
    return n > 0 ? n : 1;
}

int weft_team_default_threads(void) {
    return within_quota(allowed(true, NULL));
}

int weft_team_cpus(void) {
    return within_quota(allowed(false, NULL));
}

/* The models that `-m NAME` knows: a table that the build makes from models/sources.tsv. */
#ifndef WEFT_TOOLS_SOURCES_H
#define WEFT_TOOLS_SOURCES_H

typedef struct tool_source {
    const char *name; /* NULL ends the table */
    const char *file; /* in the cache folder */
    double megabytes;
    const char *licence;
} tool_source;

extern const tool_source tool_sources[];

#endif

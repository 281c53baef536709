/* A table of texts and numbers, for people and for programs. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROOM 128

/* As it stands in a table for people. */
static void cell_text(const bench_column *column, const bench_cell *cell, char out[ROOM]) {
    if (cell->text)
        snprintf(out, ROOM, "%s", cell->text);
    else if (isfinite(cell->number))
        snprintf(out, ROOM, "%.*f", column->decimals, cell->number);
    else
        snprintf(out, ROOM, "-");
}

static void print_aligned(const bench_column *columns, size_t n_columns, const bench_cell *cells,
                          size_t n_rows, bool markdown) {
    const char *begin = markdown ? "| " : "", *between = markdown ? " | " : "  ";
    const char *end = markdown ? " |\n" : "\n";
    char text[ROOM];
    int widths[32] = {0};
    for (size_t c = 0; c < n_columns && c < 32; c++) {
        widths[c] = columns[c].title ? (int)strlen(columns[c].title) : 0;
        for (size_t r = 0; r < n_rows && columns[c].title; r++) {
            cell_text(&columns[c], &cells[r * n_columns + c], text);
            widths[c] = (int)strlen(text) > widths[c] ? (int)strlen(text) : widths[c];
        }
    }
    /* Line -2 has the titles, line -1 markdown's rule. */
    for (long r = -2; r < (long)n_rows; r++) {
        if (r == -1 && !markdown)
            continue;
        const char *before = begin;
        for (size_t c = 0; c < n_columns && c < 32; c++) {
            if (!columns[c].title)
                continue;
            bool left = n_rows > 0 && cells[c].text;
            if (r == -2)
                snprintf(text, sizeof text, "%s", columns[c].title);
            else if (r == -1)
                snprintf(text, sizeof text, left ? "---" : "--:");
            else
                cell_text(&columns[c], &cells[(size_t)r * n_columns + c], text);
            printf(left ? "%s%-*s" : "%s%*s", before, widths[c], text);
            before = between;
        }
        printf("%s", end);
    }
}

static void print_csv_text(const char *text) {
    putchar('"');
    for (const char *c = text; *c; c++)
        printf(*c == '"' ? "\"\"" : "%c", *c);
    putchar('"');
}

static void print_csv(const bench_column *columns, size_t n_columns, const bench_cell *cells,
                      size_t n_rows) {
    for (size_t c = 0; c < n_columns; c++)
        printf("%s%s", c ? "," : "", columns[c].key);
    printf("\n");
    for (size_t i = 0; i < n_rows * n_columns; i++) {
        if (i % n_columns)
            putchar(',');
        if (cells[i].text)
            print_csv_text(cells[i].text);
        else if (isfinite(cells[i].number))
            printf("%.9g", cells[i].number);
        if (i % n_columns == n_columns - 1)
            putchar('\n');
    }
}

static void print_json(const bench_column *columns, size_t n_columns, const bench_cell *cells,
                       size_t n_rows) {
    printf("[");
    for (size_t i = 0; i < n_rows * n_columns; i++) {
        size_t c = i % n_columns;
        printf("%s\"%s\":", c ? "," : i ? ",\n{" : "\n{", columns[c].key);
        if (cells[i].text)
            tool_write_json_string(cells[i].text, strlen(cells[i].text));
        else
            tool_write_json_float(cells[i].number);
        if (c == n_columns - 1)
            printf("}");
    }
    printf("]");
}

void bench_table(bench_format format, const bench_column *columns, size_t n_columns,
                 const bench_cell *cells, size_t n_rows) {
    if (format == BENCH_CSV)
        print_csv(columns, n_columns, cells, n_rows);
    else if (format == BENCH_JSON)
        print_json(columns, n_columns, cells, n_rows);
    else
        print_aligned(columns, n_columns, cells, n_rows, format == BENCH_MARKDOWN);
}

/* The roofline (Williams, Waterman, Patterson 2009): what is computed a second over the operations
 * for each byte read, both logarithmic. The roof is the machine's own measured limits; the points
 * are the model's prompts, decoding and batches. */
#include "bench.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 760, HEIGHT = 480, LEFT = 70, RIGHT = 150, TOP = 50, BOTTOM = 50 };

typedef struct chart {
    double x0, x1, y0, y1; /* decades */
} chart;

static double x_of(const chart *c, double intensity) {
    return LEFT + (log10(intensity) - c->x0) / (c->x1 - c->x0) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const chart *c, double gops) {
    return HEIGHT - BOTTOM - (log10(gops) - c->y0) / (c->y1 - c->y0) * (HEIGHT - TOP - BOTTOM);
}

/* Text of XML: what has a meaning there is spelled. */
static void print_text(const char *text) {
    for (const unsigned char *s = (const unsigned char *)text; *s; s++)
        if (*s == '<' || *s == '>' || *s == '&' || *s < 0x20 || *s >= 0x7f)
            printf(*s < 0x20 || *s >= 0x7f ? "?" : "&#%d;", *s);
        else
            putchar(*s);
}

static void grid(const chart *c) {
    for (double d = c->x0; d <= c->x1; d++) {
        double x = x_of(c, pow(10, d));
        printf("<line x1='%.1f' y1='%d' x2='%.1f' y2='%d' stroke='#ddd'/>\n", x, TOP, x,
               HEIGHT - BOTTOM);
        printf("<text x='%.1f' y='%d' text-anchor='middle'>%g</text>\n", x, HEIGHT - BOTTOM + 16,
               pow(10, d));
    }
    for (double d = c->y0; d <= c->y1; d++) {
        double y = y_of(c, pow(10, d));
        printf("<line x1='%d' y1='%.1f' x2='%d' y2='%.1f' stroke='#ddd'/>\n", LEFT, y,
               WIDTH - RIGHT, y);
        printf("<text x='%d' y='%.1f' text-anchor='end'>%g</text>\n", LEFT - 6, y + 4, pow(10, d));
    }
    printf("<text x='%d' y='%d' text-anchor='middle'>operations for each byte read</text>\n",
           (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12);
    printf("<text x='18' y='%d' text-anchor='middle' transform='rotate(-90 18 %d)'>GOPS</text>\n",
           HEIGHT / 2, HEIGHT / 2);
}

/* The slope of the memory up to the ceiling `gops`, and the ceiling from there on. */
static void roof(const chart *c, const char *name, double gbps, double gops, const char *colour) {
    if (gbps <= 0 || gops <= 0)
        return;
    double knee = gops / gbps, left = pow(10, c->x0), right = pow(10, c->x1);
    knee = knee < left ? left : knee > right ? right : knee;
    double low = left * gbps, bottom = pow(10, c->y0);
    double from = low < bottom ? bottom / gbps : left;
    printf("<polyline fill='none' stroke='%s' stroke-width='2' points='%.1f,%.1f %.1f,%.1f "
           "%.1f,%.1f'/>\n",
           colour, x_of(c, from), y_of(c, from * gbps), x_of(c, knee), y_of(c, knee * gbps),
           x_of(c, right), y_of(c, knee * gbps));
    printf("<text x='%d' y='%.1f' fill='%s'>%s %.0f</text>\n", WIDTH - RIGHT + 6,
           y_of(c, knee * gbps) + 4, colour, name, gops);
}

static void points(const bench *b, const chart *c) {
    static const char *const colours[] = {"#c33", "#26c", "#282"};
    static const char *const names[] = {"prefill", "decode", "batch"};
    for (size_t i = 0; i < b->n_points; i++) {
        const bench_point *p = &b->points[i];
        double x = x_of(c, p->ops / p->bytes), y = y_of(c, p->gops);
        printf("<circle cx='%.1f' cy='%.1f' r='5' fill='%s'><title>%s: %.1f tokens/s, %.1f GB/s, "
               "%.1f GOPS</title></circle>\n",
               x, y, colours[p->kind], names[p->kind], p->tps.median, p->gbps, p->gops);
        printf("<text x='%.1f' y='%.1f' fill='%s'>%s %d", x + 8, y + 14, colours[p->kind],
               names[p->kind], p->n);
        printf(p->depth ? " at %d</text>\n" : "</text>\n", p->depth);
    }
}

static void widen(double value, double *low, double *high) {
    if (!(value > 0) || !isfinite(value))
        return;
    *low = floor(log10(value)) < *low ? floor(log10(value)) : *low;
    *high = ceil(log10(value)) > *high ? ceil(log10(value)) : *high;
}

void bench_print_svg(const bench *b) {
    const weft_limits *l = &b->limits;
    chart c = {0, 3, 0, 3};
    for (size_t i = 0; i < b->n_points; i++) {
        widen(b->points[i].ops / b->points[i].bytes, &c.x0, &c.x1);
        widen(b->points[i].gops, &c.y0, &c.y1);
    }
    widen(l->int8_all / 1e9, &c.y0, &c.y1);
    widen(l->f32_all / 1e9, &c.y0, &c.y1);
    widen(l->bf16_all / 1e9, &c.y0, &c.y1);
    printf("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' font-family='sans-serif' "
           "font-size='12'>\n<rect width='100%%' height='100%%' fill='#fff'/>\n",
           WIDTH, HEIGHT);
    printf("<text x='%d' y='22' font-size='15'>", LEFT);
    print_text(b->title);
    printf(" on %s, %d threads</text>\n", b->cpu, b->threads);
    grid(&c);
    if (l->cpu)
        printf("<text x='%d' y='40'>reading %.1f GB/s</text>\n", LEFT, l->read_all / 1e9);
    roof(&c, "int8", l->read_all / 1e9, l->int8_all / 1e9, "#777");
    roof(&c, "f32", l->read_all / 1e9, l->f32_all / 1e9, "#aaa");
    roof(&c, "bf16", l->read_all / 1e9, l->bf16_all / 1e9, "#b90");
    points(b, &c);
    printf("</svg>\n");
}

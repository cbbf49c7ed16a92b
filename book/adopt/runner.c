/* Runs rotate.json on rotate() below, in whose place you put your own: cc runner.c -lm -o run && ./run rotate.json */
#define _POSIX_C_SOURCE 200809L /* getline */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef struct { int half_split, head_dim, rotary_dim; double base, attention_factor; } Case;
static void rotate(const double *x, double position, const Case *c, double *out) {
    memcpy(out, x, c->head_dim * sizeof *x);
    for (int i = 0; i < c->rotary_dim / 2; i++) {
        int a = c->half_split ? i : 2 * i, b = c->half_split ? i + c->rotary_dim / 2 : 2 * i + 1;
        double angle = position * pow(c->base, -2.0 * i / c->rotary_dim);
        out[a] = c->attention_factor * (x[a] * cos(angle) - x[b] * sin(angle));
        out[b] = c->attention_factor * (x[a] * sin(angle) + x[b] * cos(angle));
    }
}
static const char *after(const char *line, const char *key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *found = strstr(line, quoted);
    if (!found) exit(2);
    return found + strlen(quoted);
}
static double number(const char *line, const char *key) { return strtod(after(line, key), NULL); }
static double *numbers(const char *line, const char *key, int *count) { /* of a list of lists, one after another */
    const char *at = after(line, key);
    double *found = malloc((strlen(at) / 2 + 1) * sizeof *found);
    int depth = *count = 0;
    do {
        char *end = (char *)at + 1;
        depth += (*at == '[') - (*at == ']');
        if (!strchr("[], ", *at)) found[(*count)++] = strtod(at, &end);
        at = end;
    } while (depth && *at);
    return found;
}
int main(int argc, char **argv) {
    FILE *file = fopen(argc > 1 ? argv[1] : "rotate.json", "r");
    char *line = NULL;
    size_t room = 0;
    int cases = 0, failed = 0, rows, size;
    if (!file) return perror("rotate.json"), 2;
    while (getline(&line, &room, file) > 0) {
        if (strncmp(line, "{\"name\"", 7)) continue;
        Case c = { !strncmp(after(line, "layout"), "\"half_split\"", 12), number(line, "head_dim"),
                   number(line, "rotary_dim"), number(line, "base"), number(line, "attention_factor") };
        double *positions = numbers(line, "positions", &rows), *x = numbers(line, "x", &size);
        double *wanted = numbers(line, "expected", &size), *out = malloc(c.head_dim * sizeof *out), off = 0;
        for (int n = 0; n < rows; n++) {
            rotate(x + n * c.head_dim, positions[n], &c, out);
            for (int i = 0; i < c.head_dim; i++)
                off = fmax(off, isnan(out[i]) ? INFINITY : fabs(out[i] - wanted[n * c.head_dim + i]));
        }
        if (!(off <= number(line, "float64"))) failed++, printf("FAILED %.60s: off by %.2g\n", after(line, "name"), off);
        cases++; /* the memory of a few cases is not given back */
    }
    printf("%d of %d cases passed\n", cases - failed, cases);
    return failed || !cases;
}

#include "../../../app.h"

NOINLINE int
chart_scale(const int *values, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += values[i * 2];
    return AFTER(sum);
}

NOINLINE int chart_draw(const int *values) __asm__("_$s5Chart8RendererV4drawyySiF");
int
chart_draw(const int *values)
{
    return AFTER(chart_scale(values, 3));
}

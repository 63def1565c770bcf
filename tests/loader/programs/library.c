/* A library of which no symbol file is uploaded: its frames have no names, the frames after them must. */
__attribute__((noinline)) static int
twice(int (*callback)(void *), void *argument)
{
    return callback(argument) + callback(argument) + 1;
}

int
lib_apply(int (*callback)(void *), void *argument)
{
    return twice(callback, argument);
}

__attribute__((noinline)) int
lib_poke(int *where, int value)
{
    volatile int copy = value;
    *where = copy;
    return copy + 1;
}

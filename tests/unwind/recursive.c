/* Functions that call themselves, from several places: their frames look alike. */
struct tree {
    const struct tree *left, *right;
    int value;
};

volatile long sink;
static const struct tree leaf_tree;
static struct tree small = {&leaf_tree, &leaf_tree, 3}, large = {&small, &leaf_tree, 4};

static int
fibonacci(int n)
{
    if (n < 2)
        return n;
    return fibonacci(n - 1) + fibonacci(n - 2);
}

__attribute__((noinline)) static int
ackermann(int m, int n)
{
    if (!m)
        return n + 1;
    if (!n)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

__attribute__((noinline)) static int
walk(const struct tree *tree, int depth)
{
    int sum = 0;
    if (!tree)
        return 0;
    if (tree->left)
        sum += walk(tree->left, depth + 1);
    sum += tree->value * depth;
    if (tree->right)
        sum += walk(tree->right, depth + 1);
    return sum;
}

int
main(void)
{
    sink = fibonacci(6);
    sink = ackermann(1, 3);
    sink = walk(&large, 1);
    return 0;
}

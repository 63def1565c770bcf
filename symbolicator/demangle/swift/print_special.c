/*
 * Printing specializations.
 */
#include "symbolicator/demangle/swift/print.h"

/* "generic specialization <Swift.Int> of "; simplified, one "specialized " for all of them. */
void
sym_swift_print_specialization(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    bool partial =
        node->kind == SWIFT_GENERIC_PARTIAL || node->kind == SWIFT_GENERIC_PARTIAL_NOT_REABSTRACTED;
    /* DisplayGenericSpecializations is off in the simplified form; Swift prints "specialized"
     * once. */
    if (p->simplified) {
        if (!p->specialized)
            sym_swift_print_text(p, "specialized ");
        p->specialized = true;
        return;
    }
    /* A specialization for another representation has no arguments. */
    if (node->index) {
        sym_swift_print_text(p, "representation changed of ");
        return;
    }
    bool first = true;
    int argument = 0;
    sym_swift_print_before(p, node);
    sym_swift_print_text(p, " <");
    for (uint32_t i = 0; i < node->n_children && !p->failed; i++) {
        const struct sym_swift_node *child = node->children[i];
        bool shown = child->kind == SWIFT_SERIALIZED || child->n_children > 0;
        if (shown && !first)
            sym_swift_print_text(p, ", ");
        if (shown && child->kind == SWIFT_SPEC_ARGUMENT)
            fz_buffer_printf(p->out, "Arg[%d] = ", argument);
        else if (shown && child->kind == SWIFT_SPEC_RETURN)
            sym_swift_print_text(p, "Return = ");
        else if (shown && partial && child->kind == SWIFT_SPEC_PARAM)
            sym_swift_print_text(p, "Signature = ");
        if (shown)
            sym_swift_print(p, child);
        first = first && !shown;
        /* unchanged arguments are not printed, but count */
        argument += child->kind != SWIFT_SERIALIZED;
    }
    sym_swift_print_text(p, "> of ");
}

void
sym_swift_print_spec_param(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    sym_swift_print(p, sym_swift_node_child(node, 0));
    for (uint32_t i = 1; i < node->n_children; i++) {
        sym_swift_print_text(p, i == 1 ? " with " : " and ");
        sym_swift_print(p, node->children[i]);
    }
}

/* A mangled name within the name is demangled, too; Swift prints it without sugar. Its bytes
 * count as steps, because substitutions can repeat it many times. */
void
sym_swift_print_spec_payload(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    if (node->text.len > *p->steps) {
        p->failed = true;
        return;
    }
    *p->steps -= node->text.len;
    /* The inner name has options of its own, but shares the output and the limits. */
    struct sym_swift_printer inner = *p;
    size_t before = p->out->len;
    inner.simplified = inner.sugar = inner.specialized = false;
    inner.show_where = true;
    inner.nested++;
    /* Constants are names of functions and globals, but also numbers and text. */
    if (p->print_symbol(node->text, &inner))
        return;
    if (p->out->len > before) { /* remove what was printed before it failed */
        p->out->len = before;
        p->out->data[before] = '\0';
    }
    sym_swift_print_span(p, node->text);
}

static void
print_flags(struct sym_swift_printer *p, int64_t flags)
{
    static const struct {
        int64_t flag;
        const char *text;
    } texts[] = {
        {SWIFT_SPEC_EXISTENTIAL_TO_GENERIC, "Existential To Protocol Constrained Generic"},
        {SWIFT_SPEC_DEAD, "Dead"},
        {SWIFT_SPEC_OWNED_TO_GUARANTEED, "Owned To Guaranteed"},
        {SWIFT_SPEC_GUARANTEED_TO_OWNED, "Guaranteed To Owned"},
        {SWIFT_SPEC_EXPLODED, "Exploded"},
    };
    bool first = true;
    for (size_t i = 0; i < FZ_ARRAY_LEN(texts); i++) {
        if (!(flags & texts[i].flag))
            continue;
        if (!first)
            sym_swift_print_text(p, " and ");
        sym_swift_print_text(p, texts[i].text);
        first = false;
    }
}

static void
print_spec_kind(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    static const char *const texts[SWIFT_N_SPECS] = {
        [SWIFT_SPEC_FUNCTION] = "Constant Propagated Function",
        [SWIFT_SPEC_GLOBAL] = "Constant Propagated Global",
        [SWIFT_SPEC_INTEGER] = "Constant Propagated Integer",
        [SWIFT_SPEC_FLOAT] = "Constant Propagated Float",
        [SWIFT_SPEC_STRING] = "Constant Propagated String",
        [SWIFT_SPEC_CLOSURE] = "Closure Propagated",
        [SWIFT_SPEC_BOX_TO_VALUE] = "Value Promoted from Box",
        [SWIFT_SPEC_BOX_TO_STACK] = "Stack Promoted from Box",
        [SWIFT_SPEC_INOUT_TO_OUT] = "InOut Converted to Out",
        [SWIFT_SPEC_KEY_PATH] = "Constant Propagated KeyPath",
        [SWIFT_SPEC_STRUCT] = "Constant Propagated Struct",
        [SWIFT_SPEC_SAME_AS] = "Same As Argument",
        [SWIFT_SPEC_ESCAPING_CLOSURE] = "Escaping Closure Propagated",
    };
    /* Flags of one argument are combined in one node. */
    if (node->index >= SWIFT_N_SPECS) {
        print_flags(p, node->index);
        return;
    }
    const struct sym_swift_node *payload = sym_swift_node_child(node, 0);
    const char *text = texts[node->index];
    if (!payload) {
        sym_swift_print_text(p, text);
        return;
    }
    sym_swift_print_text(p, "[");
    sym_swift_print_text(p, text);
    sym_swift_print_text(p, node->index == SWIFT_SPEC_SAME_AS ? " " : " : ");
    /* The encoding comes before the quotation mark: u8'text'. */
    if (node->index == SWIFT_SPEC_STRING) {
        sym_swift_print_span(p, node->text);
        sym_swift_print_text(p, "'");
    }
    sym_swift_print(p, payload);
    if (node->index == SWIFT_SPEC_STRING)
        sym_swift_print_text(p, "'");
    if (node->index == SWIFT_SPEC_CLOSURE || node->index == SWIFT_SPEC_ESCAPING_CLOSURE) {
        sym_swift_print_text(p, ", Argument Types : [");
        sym_swift_print_children(p, node, 1, node->n_children, NULL);
    } else if (node->index == SWIFT_SPEC_KEY_PATH) {
        sym_swift_print_text(p, "<");
        sym_swift_print_children(p, node, 1, 3, ",");
        sym_swift_print_text(p, ">");
    }
    sym_swift_print_text(p, "]");
}

void
sym_swift_print_spec_argument(struct sym_swift_printer *p, const struct sym_swift_node *node)
{
    for (uint32_t i = 0; i < node->n_children; i++)
        print_spec_kind(p, node->children[i]);
}

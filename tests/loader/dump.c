#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader.h"

/*
 * Written by the loader itself for programs without the client: the whole stack from sp - 128, 256 bytes after every
 * pointer in registers and stack, all data segments of the images. An independent second source of the client's data.
 */
enum { RED_ZONE = 128, BEYOND = 256, REGIONS = 1024, GUARD = 64 * 1024 };

static struct span {
    uint64_t addr, size;
} spans[REGIONS];
static unsigned n_spans;

static void
write_base64(FILE *out, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        uint32_t bits = (uint32_t)bytes[i] << 16 | (i + 1 < size ? bytes[i + 1] << 8 : 0) |
                        (i + 2 < size ? bytes[i + 2] : 0);
        fputc(digits[bits >> 18], out);
        fputc(digits[bits >> 12 & 63], out);
        fputc(i + 1 < size ? digits[bits >> 6 & 63] : '=', out);
        fputc(i + 2 < size ? digits[bits & 63] : '=', out);
    }
}

static void
write_memory(FILE *out, uint64_t addr, uint64_t size)
{
    fprintf(out, "{\"address\":\"0x%llx\",\"bytes\":\"", (unsigned long long)addr);
    write_base64(out, (const uint8_t *)addr, size);
    fprintf(out, "\"}");
}

static void
write_registers(FILE *out, const struct cpu_all *cpu)
{
    fprintf(out, "\"registers\":{");
    for (int i = 0; i < CPU_GENERAL; i++)
        fprintf(out, "%s\"%s\":\"0x%llx\"", i ? "," : "", cpu_names[i],
                (unsigned long long)cpu->state.r[i]);
#ifdef __aarch64__
    fprintf(out, ",\"cpsr\":\"0x%x\",\"far\":\"0x%llx\"", cpu->state.cpsr,
            (unsigned long long)cpu->exception.far);
    const char *vector = "v";
#else
    fprintf(out, ",\"rflags\":\"0x%llx\"", (unsigned long long)cpu->state.rflags);
    const char *vector = "xmm";
#endif
    for (int i = 0; i < CPU_VECTORS; i++) {
        fprintf(out, ",\"%s%d\":\"0x", vector, i);
        for (int k = 15; k >= 0; k--)
            fprintf(out, "%02x", cpu->vectors.v[i][k]);
        fputc('"', out);
    }
    fputc('}', out);
}

/* The part of the thread's own stack that is to be written; false if sp is not in it. */
static bool
live_stack(const struct loader_thread *thread, struct span *ret)
{
    uint64_t sp = thread->cpu.state.r[CPU_SP];
    /* A function that needs a larger frame than there is room for has set sp already. */
    if (sp > thread->stack_top || sp + GUARD < thread->stack_low)
        return false;
    uint64_t low = sp < thread->stack_low + RED_ZONE ? thread->stack_low : sp - RED_ZONE;
    *ret = (struct span){low, thread->stack_top - low};
    return ret->size > 0;
}

static bool
is_in_image(uint64_t addr)
{
    for (unsigned i = 0; i < loader_n_images; i++)
        if (addr >= loader_images[i]->addr && addr < loader_images[i]->end)
            return true;
    return false;
}

static void
add_pointer(const struct loader_thread *thread, uint64_t addr)
{
    struct loader_region region;
    if (addr < 0x1000 || (addr >= thread->stack_low && addr < thread->stack_top) ||
        is_in_image(addr) || !loader_region_at(getpid(), addr, &region) || addr < region.addr ||
        !(region.protection & 1))
        return;
    addr &= ~(uint64_t)15;
    uint64_t end = region.addr + region.size;
    uint64_t size = end - addr < BEYOND ? end - addr : BEYOND;
    for (unsigned i = 0; i < n_spans; i++)
        if (addr >= spans[i].addr && addr + size <= spans[i].addr + spans[i].size)
            return;
    if (n_spans < REGIONS)
        spans[n_spans++] = (struct span){addr, size};
}

void
loader_dump_thread(FILE *out, const struct loader_thread *thread, bool crashed)
{
    struct span stack;
    fprintf(out, "{\"index\":%d,\"name\":\"%s\",\"crashed\":%s,",
            (int)(thread - loader_shared->threads), thread->name, crashed ? "true" : "false");
    write_registers(out, &thread->cpu);
    if (live_stack(thread, &stack)) {
        fprintf(out, ",\"stack\":");
        write_memory(out, stack.addr, stack.size);
        for (uint64_t at = stack.addr; at + 8 <= stack.addr + stack.size; at += 8)
            add_pointer(thread, *(const uint64_t *)at);
    }
    for (int i = 0; i < CPU_GENERAL; i++)
        add_pointer(thread, thread->cpu.state.r[i]);
    fprintf(out, "}");
}

static void
write_image(FILE *out, const struct macho *image)
{
    const char *name = strrchr(image->path, '/');
    fprintf(out, "{\"uuid\":\"");
    for (int i = 0; i < 16; i++)
        fprintf(out, "%02x", image->uuid[i]);
    fprintf(out,
            "\",\"name\":\"%s\",\"path\":\"%s\",\"arch\":\"" CPU_ARCH
            "\",\"address\":\"0x%llx\",\"size\":%llu}",
            name ? name + 1 : image->path, image->path, (unsigned long long)image->addr,
            (unsigned long long)image->text_size);
}

void
loader_dump_images(FILE *out)
{
    for (unsigned i = 0; i < loader_n_images; i++) {
        fprintf(out, i ? "," : "");
        write_image(out, loader_images[i]);
    }
}

void
loader_dump(const struct loader_thread *crashed, int darwin_signal, uint64_t fault_addr)
{
    static const char *const names[32] = {
        [4] = "SIGILL",  [5] = "SIGTRAP",  [6] = "SIGABRT", [8] = "SIGFPE",
        [10] = "SIGBUS", [11] = "SIGSEGV", [12] = "SIGSYS"};
    loader_maps_forget();
    FILE *out = fopen(loader_dump_path, "we");
    if (!out)
        return;
    fprintf(out,
            "{\"framezero\":1,\"arch\":\"" CPU_ARCH "\",\"crash\":{\"thread\":%d,\"signal\":\"%s\","
            "\"address\":\"0x%llx\"},\"threads\":[\n",
            (int)(crashed - loader_shared->threads), names[darwin_signal & 31],
            (unsigned long long)fault_addr);
    const char *comma = "";
    for (int i = 0; i < LOADER_THREADS; i++) {
        const struct loader_thread *thread = &loader_shared->threads[i];
        if (!thread->used || (thread != crashed && thread->freeze != LOADER_FROZEN))
            continue;
        fprintf(out, "%s", comma);
        loader_dump_thread(out, thread, thread == crashed);
        comma = ",";
    }
    fprintf(out, "],\"images\":[");
    loader_dump_images(out);
    fprintf(out, "],\"memory\":[");
    for (unsigned i = 0; i < n_spans; i++) {
        fprintf(out, i ? ",\n" : "");
        write_memory(out, spans[i].addr, spans[i].size);
    }
    comma = n_spans ? ",\n" : "";
    for (unsigned i = 0; i < loader_n_images; i++) {
        for (unsigned k = 0; k < loader_images[i]->n_segments; k++) {
            const struct macho_segment *segment = &loader_images[i]->segments[k];
            if (segment->size == 0 || strncmp(segment->name, "__DATA", 6))
                continue;
            fprintf(out, "%s", comma);
            write_memory(out, segment->addr, segment->size);
            comma = ",\n";
        }
    }
    fprintf(out, "]}\n");
    fclose(out);
}

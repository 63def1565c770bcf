// What client/ uses of <cxxabi.h>.
#pragma once
#include <stddef.h>
#include <typeinfo>
namespace __cxxabiv1
{
extern "C" std::type_info *__cxa_current_exception_type();
extern "C" char *__cxa_demangle(const char *, char *, size_t *, int *);
} // namespace __cxxabiv1
namespace abi = __cxxabiv1;

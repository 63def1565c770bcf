/* What the sources of client/ use of the SDK's header of this name. */
#pragma once
#if defined(__ENVIRONMENT_IPHONE_OS_VERSION_MIN_REQUIRED__)
#define TARGET_OS_IPHONE 1
#else
#define TARGET_OS_IPHONE 0
#endif
#define TARGET_OS_SIMULATOR 0
#if defined(__ENVIRONMENT_TV_OS_VERSION_MIN_REQUIRED__)
#define TARGET_OS_TV 1
#else
#define TARGET_OS_TV 0
#endif

# Libraries that are loaded when they are first needed: see base/lazy.h.
#
# fz_lazy_library(NAME LIBRARY FUNCTION...) makes the target fz_lazy_NAME, which stands for the imported target
# LIBRARY: it has its headers, and for each FUNCTION a jump to where fz_lazy_load(&fz_lazy_NAME) finds it. A function
# that is used and not in the list is an error of the linker. On processors and systems that have no jump here, in
# portable builds, and where the library's soname cannot be found, the target links the library as usual.
function(fz_lazy_library name library)
  set(soname "")
  get_target_property(linked ${library} INTERFACE_LINK_LIBRARIES)
  foreach(path IN LISTS linked)
    if(path MATCHES "/lib${name}\\.so" AND CMAKE_OBJDUMP)
      execute_process(COMMAND "${CMAKE_OBJDUMP}" -p "${path}" OUTPUT_VARIABLE headers ERROR_QUIET)
      if(headers MATCHES "SONAME[ ]+([^ \n]+)")
        set(soname "${CMAKE_MATCH_1}")
      endif()
    endif()
  endforeach()
  set(jump "")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
    set(jump "endbr64\\n\\tjmp *(SLOTS+OFFSET)(%rip)")
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    set(jump "adrp x16, SLOTS+OFFSET\\n\\tldr x16, [x16, :lo12:SLOTS+OFFSET]\\n\\tbr x16")
  endif()
  set(functions ${ARGN})
  if(NOT soname OR NOT jump OR FZ_PORTABLE)
    message(STATUS "lib${name} is loaded at every start: no lazy loading here")
    set(functions "")
  endif()

  set(slots "fz_lazy_${name}_functions")
  set(names_text "")
  set(slots_text "")
  set(jumps_text "")
  set(offset 0)
  foreach(function IN LISTS functions)
    string(APPEND names_text "    \"${function}\",\n")
    string(APPEND slots_text "    fz_lazy_unloaded,\n")
    string(REPLACE "SLOTS" "${slots}" code "${jump}")
    string(REPLACE "OFFSET" "${offset}" code "${code}")
    string(APPEND jumps_text
      "__asm__(\".pushsection .text\\n\\t.globl ${function}\\n\\t.hidden ${function}\\n\"\n"
      "        \"\\t.type ${function}, %function\\n${function}:\\n\\t${code}\\n\"\n"
      "        \"\\t.size ${function}, .-${function}\\n\\t.popsection\\n\");\n")
    math(EXPR offset "${offset} + 8")
  endforeach()
  if(functions)
    set(content "fz_lazy_fn ${slots}[] = {\n${slots_text}};\nstatic const char *const names[] = {\n${names_text}};
const struct fz_lazy fz_lazy_${name} = {\"${soname}\", names, ${slots}, sizeof(names) / sizeof(names[0])};
${jumps_text}")
  else()
    set(content "const struct fz_lazy fz_lazy_${name} = {0};\n")
  endif()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/fz_lazy_${name}.c")
  file(CONFIGURE OUTPUT "${source}" CONTENT "/* Made by cmake/FzLazy.cmake. */\n#include \"base/lazy.h\"\n
extern fz_lazy_fn ${slots}[];\n${content}" @ONLY)
  add_library(fz_lazy_${name} STATIC "${source}")
  target_link_libraries(fz_lazy_${name} PUBLIC fz_base fz_options)
  if(functions)
    target_include_directories(fz_lazy_${name} SYSTEM PUBLIC
      $<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>)
  else()
    target_link_libraries(fz_lazy_${name} PUBLIC ${library})
  endif()
endfunction()

fz_lazy_library(archive PkgConfig::ARCHIVE
  archive_entry_filetype archive_entry_hardlink archive_entry_is_encrypted archive_entry_pathname
  archive_entry_pathname_utf8 archive_entry_size archive_errno archive_error_string archive_filter_bytes
  archive_filter_count archive_format archive_read_data archive_read_data_block archive_read_free archive_read_new
  archive_read_next_header archive_read_open_memory archive_read_support_filter_all archive_read_support_filter_gzip
  archive_read_support_filter_xz archive_read_support_filter_zstd archive_read_support_format_raw
  archive_read_support_format_tar archive_read_support_format_zip)
if(CURL_FOUND)
  fz_lazy_library(curl PkgConfig::CURL
    curl_easy_cleanup curl_easy_escape curl_easy_getinfo curl_easy_init curl_easy_perform curl_easy_reset
    curl_easy_setopt curl_easy_strerror curl_free curl_global_init curl_slist_append curl_slist_free_all)
endif()
if(FZ_SERVER)
  fz_lazy_library(crypto PkgConfig::CRYPTO
    CRYPTO_memcmp EVP_Digest EVP_DigestFinal_ex EVP_DigestInit_ex EVP_DigestUpdate EVP_MD_CTX_free EVP_MD_CTX_new
    EVP_sha1 EVP_sha256)
  fz_lazy_library(microhttpd PkgConfig::MICROHTTPD
    MHD_add_response_header MHD_create_response_from_buffer MHD_create_response_from_callback MHD_destroy_response
    MHD_get_connection_info MHD_get_connection_values_n MHD_get_reason_phrase_for MHD_queue_response
    MHD_quiesce_daemon MHD_resume_connection MHD_start_daemon MHD_stop_daemon MHD_suspend_connection)
  fz_lazy_library(pq PkgConfig::LIBPQ
    PQclear PQcmdStatus PQcmdTuples PQconnectdbParams PQconsumeInput PQerrorMessage PQexec PQexecParams PQexecPrepared
    PQfinish PQfreemem PQgetisnull PQgetlength PQgetvalue PQnotifies PQntuples PQprepare PQresultErrorField
    PQresultStatus PQsetNoticeReceiver PQsocket PQstatus)
  fz_lazy_library(sqlite3 PkgConfig::SQLITE
    sqlite3_bind_blob64 sqlite3_bind_int64 sqlite3_bind_null sqlite3_bind_parameter_index sqlite3_bind_text64
    sqlite3_busy_handler sqlite3_changes64 sqlite3_clear_bindings sqlite3_close_v2 sqlite3_column_blob
    sqlite3_column_bytes sqlite3_column_int64 sqlite3_column_type sqlite3_errmsg sqlite3_errstr sqlite3_exec
    sqlite3_finalize sqlite3_get_autocommit sqlite3_open_v2 sqlite3_prepare_v3 sqlite3_reset sqlite3_step)
endif()

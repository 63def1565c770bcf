# What only the Debian package has, put beside what `install` has put into the staging folder. CPack runs this before it
# makes the package; FZ_* and CPACK_* come from CPackConfig.cmake.
set(source "${CPACK_FZ_SOURCE}/cmake/package")
set(root "${CPACK_TEMPORARY_INSTALL_DIRECTORY}")
set(doc "${root}/usr/share/doc/framezero")

function(fz_place file folder name mode)
  file(MAKE_DIRECTORY "${root}/${folder}")
  configure_file("${file}" "${root}/${folder}/${name}" COPYONLY)
  execute_process(COMMAND chmod "${mode}" "${root}/${folder}/${name}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

fz_place("${source}/framezero.service" usr/lib/systemd/system framezero.service 0644)
fz_place("${source}/framezero.conf" etc/framezero framezero.conf 0644)
fz_place("${source}/copyright" usr/share/doc/framezero copyright 0644)
fz_place("${CPACK_FZ_SOURCE}/README.md" usr/share/doc/framezero README.md 0644)
file(GLOB pages RELATIVE "${CPACK_FZ_SOURCE}/docs" "${CPACK_FZ_SOURCE}/docs/*.md" "${CPACK_FZ_SOURCE}/docs/api/*"
     "${CPACK_FZ_SOURCE}/docs/images/*" "${CPACK_FZ_SOURCE}/docs/operations/*" "${CPACK_FZ_SOURCE}/docs/xcode/*")
list(REMOVE_ITEM pages CONTRIBUTING.md)
foreach(page ${pages})
  get_filename_component(folder "${page}" DIRECTORY)
  get_filename_component(name "${page}" NAME)
  fz_place("${CPACK_FZ_SOURCE}/docs/${page}" "usr/share/doc/framezero/docs/${folder}" "${name}" 0644)
endforeach()

# SOURCE_DATE_EPOCH, where it is set, makes the package the same each time.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE "${doc}/changelog" "framezero (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Built from the sources of this version; their history is in the repository.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
file(CREATE_LINK framezero.1.gz "${root}/usr/share/man/man1/framezero-child.1.gz" SYMBOLIC)
execute_process(COMMAND gzip --best --no-name --force "${doc}/changelog" "${root}/usr/share/man/man1/framezero.1"
                COMMAND_ERROR_IS_FATAL ANY)
# Completions of zsh are looked for in vendor-completions.
file(RENAME "${root}/usr/share/zsh/site-functions" "${root}/usr/share/zsh/vendor-completions")

# The Debian package, which `./dev package` makes of a release build: CPack takes what `install` installs, cmake/package has
# the rest.
set(FZ_PACKAGE_CONTACT "framezero maintainers <maintainers@framezero.invalid>" CACHE STRING
    "Who answers for the package, in its field Maintainer: name <address>")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME framezero)
set(CPACK_PACKAGE_CONTACT "${FZ_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_DIRECTORY "${CMAKE_SOURCE_DIR}/build/package")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
# Without this, folders get the umask of whoever builds.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
    WORLD_EXECUTE)
set(CPACK_FZ_SOURCE "${CMAKE_SOURCE_DIR}")
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_SOURCE_DIR}/cmake/package/stage.cmake")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser, init-system-helpers (>= 1.54)")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ca-certificates")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "nginx | caddy, postgresql")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "crash-report server with its own symbolication engine
framezero takes the raw addresses that the crash reporter of an app on
Apple's platforms recorded, finds the debug symbols of exactly that
binary, and answers with functions, files, lines and inlined calls. It
groups reports into issues, shows them in a web page and sends alerts.
.
The package has the server, its workers and the command line, which also
symbolicates without a server.")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    "${CMAKE_SOURCE_DIR}/cmake/package/postinst" "${CMAKE_SOURCE_DIR}/cmake/package/prerm"
    "${CMAKE_SOURCE_DIR}/cmake/package/postrm" "${CMAKE_SOURCE_DIR}/cmake/package/conffiles")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)

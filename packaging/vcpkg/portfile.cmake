vcpkg_download_distfile(ARCHIVE
  URLS "<url of the release>"
  FILENAME "sgemm-${VERSION}.tar.gz"
  SHA512 <sha512 of the release>)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")

if("cuda" IN_LIST FEATURES)
  set(cuda ON)
else()
  set(cuda OFF)
endif()
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DSGEMM_CUDA=${cuda} -DSGEMM_TESTS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/sgemm)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")

# SPDX-License-Identifier: Apache-2.0
# source tests/install/stage.sh BUILD DIRECTORY: installs BUILD below DIRECTORY and points pkg-config and the
# loader there.

meson install -C "$1" --no-rebuild --quiet --destdir "$2" >/dev/null
PKG_CONFIG_PATH=$(dirname "$(find "$2" -name dlcore.pc -print -quit)")
export PKG_CONFIG_PATH
export PKG_CONFIG_SYSROOT_DIR="$2"
LD_LIBRARY_PATH=$(dirname "$(find "$2" -name libdlcore.so.1 -print -quit)")
export LD_LIBRARY_PATH

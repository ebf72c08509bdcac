#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/small/imports.sh FILE... : fails when an archive or a program asks for threads or for the dynamic loader.
set -euo pipefail
unwanted='pthread_|^thrd_|^mtx_|^sem_|^dl(open|sym|close)$|^_ZNSt6thread|^_ZNSt18condition_variable|^__gthread|^clone'
status=0
for file in "$@"; do
  options=(--undefined-only --format=posix)
  if [[ $file != *.a ]]; then options+=(--dynamic); fi
  symbols=$(nm "${options[@]}" "$file" | awk 'NF > 1 { print $1 }' | sed 's/@.*//' | sort -u)
  [ -n "$symbols" ] || { echo "$file: no symbols"; status=1; }
  if found=$(grep -E "$unwanted" <<<"$symbols"); then
    printf '%s asks for:\n%s\n' "$file" "$found"
    status=1
  fi
done
exit $status

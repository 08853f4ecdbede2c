#!/usr/bin/env bash
# Puts mirfak and mirfak-measure into a folder with the libraries that they need, for a machine that has a GPU and its
# driver but not the packages that mirfak is built with. There: MIRFAK_BIN=FOLDER validate/measure/all.sh
# Not packed, because they are large: cuBLAS, cuDNN and NCCL, which are found there in LD_LIBRARY_PATH, where the system
# looks, or among the packages of the python3 that has PyTorch. The machine's C library must be no older than this one's.
#
# With MIRFAK_PYTHON, a Python that has PyTorch 2.15, captures go along (capture.sh): the one there may have another PyTorch.
#
# usage: validate/measure/pack.sh FOLDER [BUILD]     BUILD: build/release when not given
set -euo pipefail
(($# >= 1)) || { sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2; }
folder=$1
build=${2:-$(dirname "$0")/../../build/release}
programs=("$build/mirfak" "$build/mirfak-measure")
for program in "${programs[@]}"; do
  [[ -x $program ]] || { echo "pack.sh: there is no program $program: build it first" >&2; exit 2; }
done

mkdir -p "$folder/programs" "$folder/lib"
late=("$build"/late/*.so)  # parts of mirfak that it loads when it first calls them, from its own folder
cp "${programs[@]}" "${late[@]}" "$folder/programs/"
everywhere='^(linux-vdso|ld-linux.*|libc|libm|libdl|librt|libpthread|libresolv|libstdc\+\+|libgcc_s)\.so'
large='^lib(cublas|cublasLt|cudnn|nccl)\.so'
ldd "${programs[@]}" "${late[@]}" | awk '/=> \// { print $1, $3 }' | sort -u | while read -r name path; do
  [[ $name =~ $everywhere || $name =~ $large ]] || cp -L "$path" "$folder/lib/$name"
done
for name in mirfak mirfak-measure; do
  cat >"$folder/$name" <<'WRAPPER'
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
packages=$(python3 -c 'import nvidia; print(*nvidia.__path__)' 2>/dev/null)
for lib in $(for package in $packages; do ls -d "$package"/*/lib; done 2>/dev/null); do
  found=$found:$lib
done
export LD_LIBRARY_PATH="$here/lib$found${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$here/programs/$(basename "$0")" "$@"
WRAPPER
  chmod +x "$folder/$name"
done
if [[ -n ${MIRFAK_PYTHON:-} ]]; then "$(dirname "$0")/capture.sh" --captures "$folder/captures" >&2; fi
echo "$folder: $(du -sh "$folder" | cut -f1), $(ls "$folder/lib" | wc -l) libraries"

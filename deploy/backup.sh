#!/bin/sh
# backup.sh backup HOME FOLDER [KEEP]   archive HOME into FOLDER, prove it, keep the newest KEEP (7)
# backup.sh restore ARCHIVE NEW_HOME    unpack ARCHIVE into NEW_HOME, which must be empty, and verify it
set -eu
umask 077
wellread=${WELLREAD:-wellread}

restored() { # ARCHIVE NEW_HOME
    $wellread --home "$2" backup import --with-settings --with-accounts "$1" >/dev/null
    $wellread --home "$2" verify >/dev/null
}

case "${1:-}" in
backup)
    home=$2 folder=$3 keep=${4:-7}
    mkdir -p "$folder"
    archive=$folder/wellread-$(date -u +%Y%m%dT%H%M%SZ).tar.gz
    trial=$(mktemp -d)
    trap 'rm -rf "$trial" "$archive.part.tar.gz"' EXIT
    $wellread --home "$home" backup export "$archive.part.tar.gz" >/dev/null
    restored "$archive.part.tar.gz" "$trial/home"
    mv "$archive.part.tar.gz" "$archive"
    find "$folder" -name 'wellread-*.tar.gz' | sort -r | tail -n +$((keep + 1)) | while read -r old; do
        rm -f "$old"
    done
    echo "$archive"
    ;;
restore)
    restored "$2" "$3"
    echo "$3"
    ;;
*)
    sed -n '2,3p' "$0" >&2
    exit 2
    ;;
esac

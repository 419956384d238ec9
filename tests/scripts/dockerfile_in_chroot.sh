#!/bin/sh
# The Dockerfile's steps in Debian 12 chroots, for a machine without a container engine; as root, minutes.
#   sh dockerfile_in_chroot.sh SOURCES FOLDER     FOLDER must not exist; it stays, to look at: the last stage is
#                                                 FOLDER/stage.N
# Packages come from where this machine's apt gets its own. No part of the tests that run each time.
set -eu
sources=$(realpath "$1"); mkdir "$2"; work=$(realpath "$2")
for tool in debootstrap unshare; do
  command -v "$tool" >/dev/null || { echo "needs $tool" >&2; exit 1; }
done
# shellcheck disable=SC2016  # apt reads it
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | head -n 1)
debootstrap --variant=minbase bookworm "$work/base" "$mirror" >"$work/debootstrap.log" 2>&1
rm -rf "$work/base/etc/apt"; cp -a /etc/apt "$work/base/etc/apt"

n=0; root=; folder=/; user=root
# in_root COMMAND: as a step of the build runs, with a /proc of its own.
in_root() {
  # shellcheck disable=SC2016  # the inner shell expands
  unshare --mount --pid --fork sh -eu -c '
    mount --rbind "$1" "$1"; mount --rbind /dev "$1/dev"; mount -t proc proc "$1/proc"
    cp -L /etc/resolv.conf /etc/hosts "$1/etc/"
    cd "$1"; pivot_root . mnt; umount -l /mnt  # in a chroot nobody may make a user namespace
    exec setpriv --reuid="$2" --regid="$2" --init-groups env HOME=/root sh -euc "cd $3; $4"' \
    sh "$root" "$user" "$folder" "$1"
}
# The steps, one a line, continued lines joined.
sed -e ':a' -e '/\\$/N; s/\\\n//; ta' "$sources/scripts/deploy/Dockerfile" | grep -v '^#' >"$work/steps"
while read -r word rest <&3; do
  printf '== %s %s\n' "$word" "$rest"
  case $word in
    FROM)
      n=$((n + 1)); root=$work/stage.$n; folder=/; user=root
      cp -a "$work/base" "$root"
      case $rest in *' AS '*) ln -s "stage.$n" "$work/${rest##* AS }" ;; esac ;;
    WORKDIR) folder=$rest; mkdir -p "$root$folder" ;;
    USER) user=$rest ;;
    RUN) in_root "$rest" ;;
    COPY)
      from=$sources
      case $rest in --from=*) from=$work/${rest#--from=}; from=${from%% *}; rest=${rest#* } ;; esac
      to=${rest#* }; case $to in /*) to=$root$to ;; *) to=$root$folder/$to ;; esac
      if [ "${rest%% *}" = . ]; then
        git -C "$from" ls-files -z | tar -C "$from" --null -T - -cf - | tar -C "$to" -xf -
      elif [ -d "$from/${rest%% *}" ]; then  # what is in it
        mkdir -p "$to"; cp -a "$from/${rest%% *}/." "$to"
      else
        mkdir -p "$(dirname -- "$to")"; cp -a "$from/${rest%% *}" "$to"
      fi ;;
    ENTRYPOINT) entry=$(printf '%s' "$rest" | tr -d '[]",') ;;
    EXPOSE | CMD | '') ;;
    *) echo "no such step here: $word" >&2; exit 1 ;;
  esac
done 3<"$work/steps"
user=sandglass; folder=/var/lib/sandglass
in_root "$entry run -c 'import pandas; print(pandas.Series([40, 2]).sum())'"

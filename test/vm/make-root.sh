# The last step in making the root of a virtual machine. $1: the tree; $2: Debian's package of the newest kernel.
set -eu
tree=$1
name=$(chroot "$tree" apt-cache show "$2" | sed -n 's/^Depends: \(linux-image-[^ ,]*\).*/\1/p' | head -n 1)
# Unpacked, not installed: it would make a first file system of its own.
chroot "$tree" sh -euc 'cd /tmp && apt-get download -qq "$1" && dpkg-deb --fsys-tarfile linux-image-*.deb | tar -x --keep-directory-symlink -C / && rm linux-image-*.deb' sh "$name"
chroot "$tree" depmod "${name#linux-image-}"
chroot "$tree" useradd --create-home --shell /bin/bash alice
# As deploy/skillbox.service says.
chroot "$tree" useradd --system --home-dir /var/lib/skillbox --shell /usr/sbin/nologin skillbox
units=$tree/etc/systemd/system
cp "$(dirname "$0")/skillbox-suites.service" "$units/"
mkdir -p "$units/default.target.wants"
ln -s ../skillbox-suites.service "$units/default.target.wants/"
for unit in getty@.service serial-getty@.service systemd-timesyncd.service apt-daily.timer; do ln -sf /dev/null "$units/$unit"; done
echo vm > "$tree/etc/hostname"

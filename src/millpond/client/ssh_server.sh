# Serves one SSH connection on stdin and stdout, beside a job, by the sshd that is there: `sh -c … mill-ssh KEY`.
# First come lines `host KEY` and `user NAME` and an empty one, then the bytes of SSH.
umask 077
refuse() { echo "$1" >&2; exit 1; }
sshd=$(PATH="$PATH:/usr/sbin:/sbin:/usr/local/sbin"; command -v sshd) ||
    refuse 'sshd is not installed where the job runs. Its image or machine needs OpenSSH (Debian: openssh-server).'
command -v ssh-keygen >/dev/null || refuse 'ssh-keygen is not installed where the job runs. Its image needs OpenSSH.'
user=$(id -un 2>/dev/null) || refuse "The job's user $(id -u) has no name in /etc/passwd, and sshd needs one."
place=${TMPDIR:-/tmp}/.mill-ssh
mkdir -p "$place" || exit 1
if [ ! -f "$place/host" ]; then
    ssh-keygen -q -t ed25519 -N '' -C millpond -f "$place/host.$$" || exit 1
    ln "$place/host.$$" "$place/host" 2>/dev/null
    rm -f "$place/host.$$" "$place/host.$$.pub"
fi
keys=$place/keys-$(printf %s "$1" | cksum | tr ' ' -)
printf '%s\n' "$1" >"$keys.$$" && mv "$keys.$$" "$keys"
export -p >"$place/env.$$" && mv "$place/env.$$" "$place/env"
cat >"$place/enter.$$" <<'END'
term=${TERM-}
. "${0%/*}/env"
if [ -n "$term" ]; then TERM=$term; export TERM; fi
SHELL=$(command -v bash || command -v sh); export SHELL
cd "$HOME" || exit 1
if [ -n "${SSH_ORIGINAL_COMMAND-}" ]; then exec "$SHELL" -c "$SSH_ORIGINAL_COMMAND"; fi
if [ -t 0 ]; then exec "$SHELL" -i; fi
exec "$SHELL"
END
mv "$place/enter.$$" "$place/enter"
sftp=internal-sftp
for file in /usr/lib/openssh/sftp-server /usr/libexec/openssh/sftp-server /usr/lib/ssh/sftp-server /usr/libexec/sftp-server; do
    if [ -x "$file" ]; then sftp=$file; fi
done
tty=yes
if [ "$(id -u)" = 0 ]; then
    mkdir -p /run/sshd
elif ! grep -q '^[^ ]* /dev/pts devpts .*gid=' /proc/mounts; then
    tty=no # sshd would have to give the terminal to another group, may not, and end: commands and files go without
fi
printf 'host %s\nuser %s\n\n' "$(ssh-keygen -y -f "$place/host")" "$user"
exec "$sshd" -i -e -f /dev/null -o LogLevel=ERROR -o UsePAM=no -o StrictModes=no -o PidFile=none -o PrintMotd=no \
    -o PrintLastLog=no -o PasswordAuthentication=no -o KbdInteractiveAuthentication=no -o PubkeyAuthentication=yes \
    -o PermitRootLogin=prohibit-password -o AllowTcpForwarding=yes -o PermitTTY=$tty -o HostKey="$place/host" \
    -o AuthorizedKeysFile="$keys" -o Subsystem="sftp $sftp" -o ForceCommand="sh $place/enter"

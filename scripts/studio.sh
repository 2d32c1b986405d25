#!/usr/bin/env bash
# A studio on one machine: PostgreSQL, an accounts server, a gateway, and an instance that joins it.
# Usage: scripts/studio.sh [FOLDER]. It runs until Ctrl-C; the folder keeps the data of the next run.
# SERVICE_DATABASE_URL names a database that is there; otherwise one is made in the folder.
set -euo pipefail

program="$(cd "$(dirname "$0")/.." && pwd)/bin/run.js"
given=${1:-}
folder=${given:-$(mktemp -d)}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
chmod 711 "$folder"
umask 077
export XDG_CONFIG_HOME="$folder/config"
pids=()

cleanup() {
  trap - EXIT INT TERM
  for pid in $(printf '%s\n' "${pids[@]}" | tac); do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  if [ -f "$folder/postgres/postmaster.pid" ]; then as_postgres pg_ctl -D "$folder/postgres" -m fast stop >"$folder/postgres.stop" 2>&1 || true; fi
  if [ -z "$given" ]; then rm -rf "$folder"; fi
}
trap cleanup EXIT
trap 'exit 0' INT TERM

cli() { node "$program" "$@"; }

# PostgreSQL refuses to run as root.
as_postgres() {
  local command="$bin/$1"
  shift
  if [ "$(id -u)" = 0 ]; then (cd / && setpriv --reuid=postgres --regid=postgres --clear-groups "$command" "$@"); else "$command" "$@"; fi
}

# Starts a server and waits for its address: start NAME VARIABLE ARGUMENTS…
start() {
  local name=$1 variable=$2 pid
  shift 2
  node "$program" "$@" --json >"$folder/$name.out" 2>"$folder/$name.log" &
  pid=$!
  pids+=("$pid")
  for _ in $(seq 600); do
    local url
    url=$(sed -n 's/.*"event":"listening".*"url":"\([^"]*\)".*/\1/p; s/^{"url":"\([^"]*\)".*/\1/p' "$folder/$name.out" | head -n 1)
    if [ -n "$url" ]; then printf -v "$variable" %s "$url"; return; fi
    if ! kill -0 "$pid" 2>/dev/null; then break; fi
    sleep 0.1
  done
  echo "the $name did not start:" >&2
  cat "$folder/$name.log" >&2
  exit 1
}

if [ -z "${SERVICE_DATABASE_URL:-}" ]; then
  bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1 || true)
  if [ -z "$bin" ]; then bin=$(dirname "$(command -v pg_ctl || true)"); fi
  if [ ! -x "$bin/pg_ctl" ]; then
    echo 'PostgreSQL is not installed: install it, or set SERVICE_DATABASE_URL' >&2
    exit 1
  fi
  if [ ! -d "$folder/postgres" ]; then
    mkdir "$folder/postgres"
    if [ "$(id -u)" = 0 ]; then chown postgres "$folder/postgres"; fi
    as_postgres initdb -D "$folder/postgres" -U studio --auth=trust -E UTF8 --locale=C >"$folder/postgres.init" 2>&1
  fi
  # A socket in a folder of this user alone takes the place of a password.
  as_postgres pg_ctl -D "$folder/postgres" -l "$folder/postgres/log" -w \
    -o "-c listen_addresses='' -c unix_socket_directories='$folder/postgres'" start >"$folder/postgres.start"
  export SERVICE_DATABASE_URL="postgres://studio@localhost/postgres?host=$folder/postgres"
fi

start registry registry registry --port 0 --data-dir "$folder/registry"
if [ ! -f "$folder/join.token" ]; then
  node -p 'crypto.randomBytes(18).toString("base64url")' >"$folder/password"
  cli register artist --email artist@studio.example --registry "$registry" --password-stdin <"$folder/password"
  cli token create workstation --scope instance --registry "$registry" >"$folder/join.token.new"
  node -p 'crypto.randomBytes(24).toString("base64url")' >"$folder/gateway.key"
  mv "$folder/join.token.new" "$folder/join.token"
fi
echo '{"document":{"name":"shot_010"},"objects":[{"id":"Cube","location":[0,0,0]}]}' >"$folder/scene.json"
start gateway gateway gateway --port 0 --aggregate --accept-joins "$registry" \
  --api-key-file "$folder/gateway.key" --registry-dir "$folder/gateway"
start instance instance serve --port 0 --join "$gateway" --join-token-file "$folder/join.token" \
  --name 'shot 010' --scene-file "$folder/scene.json" --registry-dir "$folder/workstation"
id=$(sed -n 's/.*"instance_id":"\([^"]*\)".*/\1/p' "$folder/instance.out" | head -n 1)

cat <<END

The studio runs. Its clients connect to $gateway
with the key in $folder/gateway.key. Try in another terminal:

  export SERVICE_MCP_API_KEY=\$(cat $folder/gateway.key)
  node $program resources read gateway://instances --url $gateway
  node $program resources read instance://$id/scene/current --url $gateway

Change $folder/scene.json and read the scene again.
Logs are in $folder. Ctrl-C ends all.
END
wait -n
echo 'a server has ended; its log:' >&2
tail -n 5 "$folder"/*.log >&2
exit 1

import { tmpdir } from 'node:os'
import { dirname, relative } from 'node:path'
import { columns } from '../../lib/cli/columns.ts'
import { durationText, expiryText } from '../../lib/cli/duration-text.ts'
import { type Output, type OutputParts, createOutput } from '../../lib/cli/output.ts'
import { showOnce } from '../../lib/cli/show-once.ts'
import { parseRfc3339 } from '../../lib/clock.ts'
import { type KeyStore, createKeyStore } from '../../lib/config/key-store.ts'
import { markKeysMade } from '../../lib/config/keys-mark.ts'
import { newKey } from '../../lib/keys/key-text.ts'
import type { NamedKey } from '../../lib/keys/keys-text.ts'
import { selectRegistryDir } from '../../lib/registry-path.ts'
import { readRegistryDir } from '../server-settings.ts'
import { entryJson, expiryMs, newEntry, without } from './change.ts'
import { type KeysFlags, readLife } from './settings.ts'

export interface KeyCreateFlags extends KeysFlags {
  readonly 'read-only': boolean
  readonly 'expires-in'?: string | undefined
}

/** Where the command speaks, and what it takes its folder from. */
export type Here = Pick<OutputParts, 'stdout' | 'stderr'> & { readonly env: NodeJS.ProcessEnv }

/** Makes a key. It is the only thing on stdout: this is the only time it is shown. */
export async function createKey(
  name: string | undefined,
  flags: KeyCreateFlags,
  here: Here,
): Promise<void> {
  const { store, output, isUsual } = open(flags, here)
  const word = flags['expires-in']
  const lifeMs = word === undefined ? null : readLife(word)
  const key = newKey()
  const nowMs = Date.now()
  let made: NamedKey | null = null
  let isFirst = false
  await store.update(keys => {
    isFirst = keys.length === 0
    made = newEntry(keys, { name, key, readOnly: flags['read-only'], lifeMs }, nowMs)
    return [...keys, made]
  })
  if (made === null) return
  // Servers of another folder are named it, and started with --auth api-key if they must never open.
  const isMarked =
    isUsual &&
    (await markKeysMade(here.env).then(
      () => true,
      () => false,
    ))
  output.note(`${described(made, nowMs)}; this is the only time it is shown`)
  const entry: NamedKey = made
  await showOnce(() => output.secret(key, { ...entryJson(entry), key, file: store.path }), {
    what: 'key',
    leftOver: `service-cli keys revoke ${entry.name}`,
    run: () => store.update(keys => without(keys, entry.name)),
  })
  for (const line of usageLines) output.note(line)
  if (isFirst) {
    output.note(
      `servers of ${dirname(store.path)} ask for a key from their next start on: restart those that run without`,
    )
  }
  if (isTemporary(store.path)) {
    const then = isMarked
      ? 'servers then do not start until there are new ones; for keys that last, name another folder with SERVICE_REGISTRY_DIR, here and for the servers'
      : 'name a lasting folder with SERVICE_REGISTRY_DIR, here and for the servers, or start them with --auth api-key, which never starts without a key'
    output.warn(
      `${dirname(store.path)} is emptied when the machine restarts, and the keys with it: ${then}`,
    )
  }
}

export async function listKeys(flags: KeysFlags, here: Here): Promise<void> {
  const { store, output } = open(flags, here)
  const keys = (await store.read()) ?? []
  const nowMs = Date.now()
  const rows = keys.map(key => [
    key.name,
    key.scope,
    `${durationText(nowMs - (parseRfc3339(key.createdAt) ?? nowMs))} ago`,
    key.expiresAt === null ? 'never' : expiryOf(key, nowMs),
  ])
  const table = columns(['NAME', 'SCOPE', 'CREATED', 'EXPIRY'], rows)
  await output.result(keys.length === 0 ? '' : table, {
    file: store.path,
    keys: keys.map(entryJson),
  })
  if (keys.length === 0) output.note(`there are no keys in ${store.path}`)
}

export async function revokeKey(name: string, flags: KeysFlags, here: Here): Promise<void> {
  const { store, output } = open(flags, here)
  let left = 0
  await store.update(keys => {
    const others = without(keys, name)
    left = others.length
    return others
  })
  await output.result('', { name, revoked: true, left })
  output.note(`the key "${name}" is revoked; running servers refuse it from now on`)
  if (left > 0) return
  output.note(
    `it was the last one: a server that finds no key here starts only with --auth none, or with a key of its own`,
  )
}

const usageLines = [
  'Clients send it as a header:   Authorization: Bearer <key>',
  'For service-cli connect, doctor and mcp-config, put it into SERVICE_MCP_API_KEY.',
]

function open(
  flags: KeysFlags,
  { env, stdout, stderr }: Here,
): { store: KeyStore; output: Output; isUsual: boolean } {
  const chosen = readRegistryDir(flags, env)
  const registryDir = selectRegistryDir(chosen, env)
  const output = createOutput({ json: flags.json, quiet: flags.quiet, stdout, stderr })
  return { store: createKeyStore(registryDir), output, isUsual: chosen === undefined }
}

function described(key: NamedKey, nowMs: number): string {
  const good = key.scope === 'read' ? 'may only read' : 'may read and drain events'
  return `the key "${key.name}" ${good}, and ${expiryOf(key, nowMs)}`
}

function expiryOf(key: NamedKey, nowMs: number): string {
  const expiresAtMs = expiryMs(key)
  return expiresAtMs === null ? 'lasts until it is revoked' : expiryText(expiresAtMs, nowMs)
}

function isTemporary(path: string): boolean {
  const way = relative(tmpdir(), path)
  return way !== '' && !way.startsWith('..')
}

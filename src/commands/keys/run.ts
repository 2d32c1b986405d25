import { columns } from '../../lib/cli/format.ts'
import { durationText, expiryText } from '../../lib/util/amounts.ts'
import { createOutput, type Output, type OutputParts } from '../../lib/cli/output.ts'
import { parseRfc3339, toRfc3339 } from '../../lib/util/time.ts'
import { keysPath } from '../../lib/config/paths.ts'
import { createKeyStore, type KeyStore } from '../../lib/config/key-store.ts'
import {
  isKeyName,
  keyDigest,
  keyPrefix,
  maxKeyNameChars,
  maxKeys,
  type NamedKey,
  newKey,
} from '../../lib/auth/keys-file.ts'
import { checkPath } from '../server-settings.ts'
import { type KeysFlags, readLife } from './settings.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'

interface KeyCreateFlags extends KeysFlags {
  readonly 'read-only': boolean
  readonly 'expires-in'?: string
}

/** Where the command writes, and its environment. */
type Here = Pick<OutputParts, 'stdout' | 'stderr'> & { readonly env: NodeJS.ProcessEnv }

/** Makes a key. It is the only thing on stdout: this is the only time it is shown. */
export async function createKey(
  name: string | undefined,
  flags: KeyCreateFlags,
  here: Here,
): Promise<void> {
  const { store, output, isAccounts } = open(flags, here)
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
  output.note(`${described(made, nowMs)}; this is the only time it is shown`)
  const entry: NamedKey = made
  await output.secret(key, { ...entryJson(entry), key, file: store.path })
  for (const line of usageLines) output.note(line)
  if (isFirst) {
    const which = isAccounts ? 'all servers of your account' : `servers with this --keys-file`
    output.note(`${which} ask clients for a key from now on, those that already run too`)
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
  'For service-cli connect, resources, doctor and mcp-config, put it into SERVICE_MCP_API_KEY.',
]

function open(
  flags: KeysFlags,
  { env, stdout, stderr }: Here,
): { store: KeyStore; output: Output; isAccounts: boolean } {
  const output = createOutput({ json: flags.json, quiet: flags.quiet, stdout, stderr })
  const named = checkPath('keys-file', flags['keys-file'])
  if (named !== undefined) return { store: createKeyStore(named), output, isAccounts: false }
  const store = createKeyStore(keysPath(env), { ownFolder: true })
  return { store, output, isAccounts: true }
}

function described(key: NamedKey, nowMs: number): string {
  const good =
    key.scope === 'read'
      ? 'may only read'
      : 'may read, answer notes, and remove the session events it has read'
  return `the key "${key.name}" ${good}, and ${expiryOf(key, nowMs)}`
}

function expiryOf(key: NamedKey, nowMs: number): string {
  const expiresAtMs = expiryMs(key)
  return expiresAtMs === null ? 'lasts until it is revoked' : expiryText(expiresAtMs, nowMs)
}

interface WantedKey {
  /** Undefined: the first free `key-N`. */
  readonly name: string | undefined
  readonly key: string
  readonly readOnly: boolean
  /** Null: until it is revoked. */
  readonly lifeMs: number | null
}

/** The entry for a new key. Throws `entry_exists`, `limit_reached`, `usage_invalid`. */
function newEntry(
  keys: readonly NamedKey[],
  { name = freeName(keys), key, readOnly, lifeMs }: WantedKey,
  nowMs: number,
): NamedKey {
  if (!isKeyName(name)) {
    throw usage(
      `the name of a key has 1 to ${maxKeyNameChars} letters, digits, ".", "_" or "-"`,
      'as in anna-claude',
    )
  }
  // It would stand in the file, in lists and in logs; and the key that is made is another one.
  if (name.startsWith(keyPrefix)) {
    throw usage('that is a key, and a key cannot be its own name', 'as in anna-claude')
  }
  if (keys.some(known => known.name === name)) {
    throw new ServiceError('entry_exists', `there is a key "${name}" already`, {
      hint: `choose another name, or end that one with service-cli keys revoke ${name}`,
    })
  }
  if (keys.length >= maxKeys) {
    throw new ServiceError('limit_reached', `there are ${maxKeys} keys already`, {
      hint: 'revoke unused keys with service-cli keys revoke',
    })
  }
  return {
    name,
    sha256: keyDigest(key),
    scope: readOnly ? 'read' : 'write',
    createdAt: toRfc3339(nowMs),
    expiresAt: lifeMs === null ? null : toRfc3339(nowMs + lifeMs),
  }
}

/** Returns all keys but the named one. Throws `request_refused` when no key has the name. */
function without(keys: readonly NamedKey[], name: string): readonly NamedKey[] {
  const left = keys.filter(key => key.name !== name)
  if (left.length < keys.length) return left
  // Not repeated: it may be the key itself.
  throw new ServiceError('request_refused', 'there is no key of that name', {
    hint: 'service-cli keys list shows them',
  })
}

/** Member names of `--json`; no secret among them. */
function entryJson({ name, scope, createdAt, expiresAt }: NamedKey): object {
  return { name, scope, created_at: createdAt, expires_at: expiresAt }
}

function expiryMs({ expiresAt }: NamedKey): number | null {
  return expiresAt === null ? null : parseRfc3339(expiresAt)
}

function freeName(keys: readonly NamedKey[]): string {
  const taken = new Set(keys.map(({ name }) => name))
  for (let number = 1; ; number++) if (!taken.has(`key-${number}`)) return `key-${number}`
}

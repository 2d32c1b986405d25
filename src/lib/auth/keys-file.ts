import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, open } from 'node:fs/promises'
import { errnoOf, isMissing, readProblem, ServiceError, unusableFile } from '../util/errors.ts'
import { noFollow, noWait, ownUid } from '../util/posix.ts'
import { isJsonObject } from '../util/json.ts'
import { MemberReader, pointerTo } from '../host-link/member-reader.ts'
import { fail, ok, type Result } from '../util/result.ts'
import { hash } from 'node:crypto'
import { generateApiKey } from './api-key-config.ts'

/**
 * The keys of the file, or null without a file. Throws `config_invalid` for a symlink, a file of
 * another user or open to others (who could add keys), and for a damaged file, which must not count
 * as "no keys".
 */
export async function readKeysFile(path: string): Promise<readonly NamedKey[] | null> {
  const file = await openFile(path)
  if (file === null) return null
  try {
    const found = await file.stat()
    const problem = describeUnsafe(found)
    if (problem !== null) throw unusableFile(path, problem.what, problem.hint)
    const parsed = parseKeys(await readText(file, found.size))
    if (parsed.ok) return parsed.value
    throw unusableFile(
      path,
      parsed.failure,
      'correct it; or move it away and make new keys with service-cli keys create',
    )
  } finally {
    await file.close()
  }
}

async function openFile(path: string): Promise<FileHandle | null> {
  try {
    // Without O_NOFOLLOW (Windows), check the path.
    if (noFollow === 0 && (await lstat(path)).isSymbolicLink()) throw isLink(path)
    return await open(path, constants.O_RDONLY | noFollow | noWait)
  } catch (error) {
    // Also true for HOME=/dev/null.
    if (isMissing(error)) return null
    if (error instanceof ServiceError) throw error
    const code = errnoOf(error)
    if (code === 'ELOOP' || code === 'EMLINK') throw isLink(path)
    throw unusableFile(path, `cannot be read: ${readProblem(error)}`, `chmod 600 ${path}`)
  }
}

/** Reads at most `size` bytes: the file may grow meanwhile. */
async function readText(file: FileHandle, size: number): Promise<string> {
  const buffer = Buffer.alloc(size)
  let length = 0
  while (length < size) {
    const { bytesRead } = await file.read(buffer, length, size - length, length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return buffer.toString('utf8', 0, length)
}

function describeUnsafe(found: Stats): { what: string; hint: string } | null {
  if (!found.isFile()) return { what: 'is not a regular file', hint: 'remove it' }
  if (found.size > maxKeysFileBytes) {
    return { what: `is larger than ${maxKeysFileBytes} bytes`, hint: 'inspect and remove it' }
  }
  const uid = ownUid()
  if (uid === null) return null
  if (found.uid !== uid) {
    return { what: `belongs to another user (uid ${found.uid})`, hint: 'have its owner remove it' }
  }
  if ((found.mode & 0o077) === 0) return null
  const mode = (found.mode & 0o777).toString(8)
  return {
    what: `is open to other users (mode ${mode})`,
    hint: 'check its keys, then run chmod 600 on it',
  }
}

function isLink(path: string): ServiceError {
  return unusableFile(path, 'is a symbolic link', 'replace the link by the file')
}

const keyScopes = ['read', 'write'] as const

/** The scope of a key; `write` includes `read`. */
export type KeyScope = (typeof keyScopes)[number]

/** The record of a named key, without the key itself. */
export interface NamedKey {
  readonly name: string
  /** SHA-256 of the key, in hex. */
  readonly sha256: string
  readonly scope: KeyScope
  /** RFC 3339. */
  readonly createdAt: string
  /** RFC 3339, or null when it does not expire. */
  readonly expiresAt: string | null
}

/** Every server reads all keys. */
export const maxKeys = 1000
export const maxKeyNameChars = 64
/** More than twice the size of the largest valid file. */
export const maxKeysFileBytes = 1024 * 1024

const form = 1

/** True for letters, digits, `.`, `_` and `-`: names appear in logs, the audit and shells. */
export function isKeyName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) && name.length <= maxKeyNameChars
}

export function formatKeys(keys: readonly NamedKey[]): string {
  const written = keys.map(({ name, sha256, scope, createdAt, expiresAt }) => ({
    name,
    sha256,
    scope,
    created_at: createdAt,
    ...(expiresAt === null ? {} : { expires_at: expiresAt }),
  }))
  return `${JSON.stringify({ form, keys: written }, null, 2)}\n`
}

/**
 * Parses a keys file; the failure describes the problem. Strict: an unknown member may be one that
 * limits a key.
 */
export function parseKeys(text: string): Result<readonly NamedKey[], string> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return fail('is not JSON')
  }
  if (!isJsonObject(value)) return fail('is not a JSON object')
  if (value.form !== form) return fail(`has an unknown form; this version reads form ${form}`)
  const { keys, ...others } = value
  if (Object.keys(others).length > 1) return fail('has unknown members')
  if (!Array.isArray(keys)) return fail('has no list of keys')
  if (keys.length > maxKeys) return fail(`has more than ${maxKeys} keys`)
  const found: NamedKey[] = []
  for (const [at, item] of keys.entries()) {
    const reader = new MemberReader(item, pointerTo('/keys', at))
    const key = readKey(reader)
    const { failure } = reader
    if (failure !== null) return fail(`is damaged: ${failure.pointer} ${failure.detail}`)
    found.push(key)
  }
  for (const member of ['name', 'sha256'] as const) {
    if (new Set(found.map(key => key[member])).size < found.length) {
      return fail(`is damaged: duplicate ${member}`)
    }
  }
  return ok(found)
}

function readKey(reader: MemberReader): NamedKey {
  const name = reader.required('name', reader.text('name'), 'x')
  if (!isKeyName(name)) reader.refuse('name', 'is not a valid key name')
  const sha256 = reader.required('sha256', reader.text('sha256'), '')
  if (!/^[0-9a-f]{64}$/.test(sha256)) reader.refuse('sha256', 'must be 64 hex digits')
  return {
    name,
    sha256,
    scope: reader.required('scope', reader.word('scope', keyScopes), 'read'),
    createdAt: reader.required('created_at', reader.time('created_at'), ''),
    expiresAt: reader.time('expires_at') ?? null,
  }
}

/** Marks keys of this program, for people and for log redaction. */
export const keyPrefix = 'smk_'

/** Generates a key with 256 random bits. */
export function newKey(): string {
  return `${keyPrefix}${generateApiKey(32)}`
}

/**
 * The stored hash of a key. Unlike a password, a random key needs no slow hash. Looking up the hash
 * leaks nothing about the key through timing.
 */
export function keyDigest(key: string): string {
  return hash('sha256', key, 'hex')
}

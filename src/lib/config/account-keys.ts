import { lstat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errnoOf, isMissing, ServiceError } from '../util/errors.ts'
import { maxKeyNameChars, maxKeys, type NamedKey, readKeysFile } from '../auth/keys-file.ts'
import { isOwn } from '../util/posix.ts'
import { keysPath, selectStateDirectory } from './paths.ts'
import { createKeyStore } from './key-store.ts'

type Env = Readonly<Record<string, string | undefined>>

interface PresentKeys {
  readonly path: string
  /** Null: there is no such file. */
  readonly keys: readonly NamedKey[] | null
  /** There were keys and they are gone: the file that says so, of an older version. */
  readonly lostBy: string | null
}

interface AccountKeys extends PresentKeys {
  /** Files of older versions whose keys are in `path` now. */
  readonly movedFrom: readonly MovedKeys[]
}

export interface MovedKeys {
  readonly file: string
  /** Keys whose name another key had. */
  readonly renamed: readonly { readonly from: string; readonly to: string }[]
}

/**
 * Finds the keys of all servers of this account. Keys that an older version left in a state
 * directory are moved first. Throws `config_invalid` as long as any trace of keys cannot be read,
 * so that no server starts open because of it; and as `KeyStore.update`.
 */
export async function findAccountKeys(
  registryDir: string | undefined,
  env: Env,
): Promise<AccountKeys> {
  const path = keysPath(env)
  const movedFrom = await moveOlderKeys(path, await findOlderFiles(path, registryDir, env))
  return { ...(await readPresent(path)), movedFrom }
}

/** Returns what `findAccountKeys` would return, and moves nothing. */
export async function readAccountKeys(
  registryDir: string | undefined,
  env: Env,
): Promise<AccountKeys> {
  const path = keysPath(env)
  const older = await findOlderFiles(path, registryDir, env)
  const present = await readPresent(path)
  if (older.length === 0) return { ...present, movedFrom: [] }
  const keys = [...(present.keys ?? [])]
  return { path, movedFrom: await addAll(keys, older, path), keys, lostBy: null }
}

async function readPresent(path: string): Promise<PresentKeys> {
  const keys = await readKeysFile(path)
  const mark = markPath(path)
  return { path, keys, lostBy: keys === null && (await mayExist(mark)) ? mark : null }
}

/** Removes what older versions left beside `keys.json`; of no meaning once that file exists. */
export async function removeKeysMark(path: string): Promise<void> {
  await unlink(markPath(path)).catch(() => {})
}

/** Written by older versions, whose keys were in a folder that a restart may empty. */
function markPath(path: string): string {
  return join(dirname(path), 'keys-were-made')
}

/** What cannot be looked at counts as there. */
async function mayExist(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    return !isMissing(error)
  }
}

async function findOlderFiles(
  path: string,
  registryDir: string | undefined,
  env: Env,
): Promise<readonly string[]> {
  const folders = [
    selectStateDirectory(registryDir, env),
    selectStateDirectory(undefined, env),
    selectStateDirectory(undefined, {}),
  ]
  const found: string[] = []
  for (const folder of new Set(folders)) {
    const older = join(folder, 'keys.json')
    if (older === path || !(await isOwnFolder(folder))) continue
    if ((await readKeysFile(older)) !== null) found.push(older)
  }
  return found
}

async function moveOlderKeys(
  path: string,
  found: readonly string[],
): Promise<readonly MovedKeys[]> {
  if (found.length === 0) return []
  // Removed only once they are in the new file, and before that file can change again: a key that
  // is revoked there must not come back.
  let moved: readonly MovedKeys[] = []
  await createKeyStore(path, { ownFolder: true }).update(async keys => {
    const all = [...keys]
    moved = await addAll(all, found, path)
    return all
  })
  for (const older of found) await remove(older)
  await removeKeysMark(path)
  return moved
}

/** In a folder of another user there is nothing of ours. */
async function isOwnFolder(path: string): Promise<boolean> {
  try {
    return isOwn(await lstat(path))
  } catch (error) {
    if (isMissing(error)) return false
    throw stuck(`${path} cannot be accessed (${errnoOf(error) ?? 'unknown error'})`, path)
  }
}

async function remove(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if (isMissing(error)) return
    throw stuck(`${path} cannot be removed (${errnoOf(error) ?? 'unknown error'})`, path)
  }
}

/** Adds to `keys` those of the files. */
async function addAll(
  keys: NamedKey[],
  files: readonly string[],
  path: string,
): Promise<readonly MovedKeys[]> {
  const moved: MovedKeys[] = []
  for (const file of files) {
    moved.push({ file, renamed: addKeys(keys, (await readKeysFile(file)) ?? [], path, file) })
  }
  return moved
}

/** Adds to `keys` those of `older` that it does not have. Returns which got another name. */
function addKeys(
  keys: NamedKey[],
  older: readonly NamedKey[],
  path: string,
  olderPath: string,
): MovedKeys['renamed'] {
  const added = older.filter(({ sha256 }) => !keys.some(key => key.sha256 === sha256))
  if (keys.length + added.length > maxKeys) {
    throw new ServiceError('config_invalid', `${olderPath} has more keys than ${path} can take`, {
      hint: `revoke some: service-cli keys list --keys-file ${olderPath}`,
    })
  }
  const known = new Set(keys.map(({ name }) => name))
  const taken = new Set([...known, ...added.map(({ name }) => name)])
  const renamed: { from: string; to: string }[] = []
  for (const key of added) {
    const name = known.has(key.name) ? freeName(key.name, taken) : key.name
    taken.add(name)
    if (name !== key.name) renamed.push({ from: key.name, to: name })
    keys.push({ ...key, name })
  }
  return renamed
}

/** The first of `NAME-2`, `NAME-3` … that is free, the name cut where it would be too long. */
function freeName(name: string, taken: Set<string>): string {
  for (let number = 2; ; number++) {
    const end = `-${number}`
    const free = name.slice(0, maxKeyNameChars - end.length) + end
    if (!taken.has(free)) return free
  }
}

function stuck(message: string, path: string): ServiceError {
  return new ServiceError('config_invalid', message, {
    hint: `an older service-cli kept keys there: make ${path} accessible to you`,
  })
}

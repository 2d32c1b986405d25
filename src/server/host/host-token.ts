import { randomBytes } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { lstat, open, realpath, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ServiceError } from '../../lib/errors.ts'
import { ownUid } from '../../lib/posix.ts'
import { Secret } from '../../lib/secret.ts'

export interface HostToken {
  readonly secret: Secret
  /** Where an adapter can read it, or null when it came from the environment. */
  readonly file: string | null
}

export interface HostTokenSource {
  /** `--host-token-file` */
  readonly file?: string | undefined
  /** Value of `SERVICE_HOST_TOKEN`; empty counts as absent. */
  readonly env?: string | undefined
  /** `<registry_dir>/instances` */
  readonly instancesDir: string
  readonly instanceId: string
}

const maxTokenBytes = 4096

/**
 * The token that the application must present: from the file, else the environment, else made
 * for this run and written beside the instance record. Throws `config_invalid` for a file that
 * others can read or a text that is no token, `storage_failed` when it cannot be written.
 */
export async function resolveHostToken(source: HostTokenSource): Promise<HostToken> {
  if (source.file) return { secret: await readTokenFile(source.file), file: source.file }
  if (source.env) return { secret: toSecret(source.env, 'SERVICE_HOST_TOKEN'), file: null }
  const file = tokenFile(source.instancesDir, source.instanceId)
  const secret = new Secret(randomBytes(32).toString('base64url'))
  try {
    // Exclusive: an existing file, or a symlink put there, is never written through.
    await writeFile(file, secret.reveal(), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    throw new ServiceError('storage_failed', `the host token cannot be written to ${file}`, {
      cause: error,
      hint: 'name another folder with --registry-dir',
    })
  }
  return { secret, file }
}

/** Where the generated token of an instance lies. */
export function tokenFile(instancesDir: string, instanceId: string): string {
  return join(instancesDir, `${instanceId}.token`)
}

async function readTokenFile(path: string): Promise<Secret> {
  const text = await readPrivateFile(path).catch(error => {
    if (error instanceof ServiceError) throw error
    throw invalid(`the host token file ${path} cannot be read (${error.code ?? 'unknown error'})`)
  })
  return toSecret(text.replace(/\r?\n$/, ''), path)
}

async function readPrivateFile(path: string): Promise<string> {
  await checkLink(path)
  // Not blocking: opening a named pipe would wait for a writer.
  const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const found = await handle.stat()
    const problem = describeUnsafeFile(found, ownUid())
    if (problem !== null) {
      throw invalid(`the host token file ${path} ${problem}`, `chmod 600 ${path}`)
    }
    if (found.size > maxTokenBytes) throw invalid(`the host token file ${path} is too large`)
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}

/** Why a file must not be trusted with a secret, or null. Without a uid (Windows) only its kind counts. */
function describeUnsafeFile(
  found: Pick<Stats, 'mode' | 'uid'> & { isFile(): boolean },
  uid: number | null,
): string | null {
  if (!found.isFile()) return 'is not a regular file'
  if (uid === null) return null
  if (found.uid !== uid && found.uid !== 0) return `belongs to another user (uid ${found.uid})`
  if ((found.mode & 0o077) !== 0) return 'can be read by other users'
  return null
}

/** A symlink is only as safe as the folder it leads to: whoever can write there can swap the file. */
async function checkLink(path: string): Promise<void> {
  const uid = ownUid()
  const link = await lstat(path)
  if (uid === null || !link.isSymbolicLink()) return
  const target = await realpath(path)
  const folder = await stat(dirname(target))
  const foreign = [link.uid, folder.uid].some(owner => owner !== uid && owner !== 0)
  if (!foreign && (folder.mode & 0o022) === 0) return
  throw invalid(
    `the host token file ${path} is a symbolic link to ${target}, which others can replace`,
    'name the file itself, in a folder that only you can write',
  )
}

function toSecret(text: string, origin: string): Secret {
  if (text === '') throw invalid(`the host token in ${origin} is empty`)
  if (/^[\x21-\x7e]+$/.test(text)) return new Secret(text)
  throw invalid(`the host token in ${origin} has characters that a header cannot carry`)
}

function invalid(message: string, hint?: string): ServiceError {
  return new ServiceError('config_invalid', message, hint === undefined ? {} : { hint })
}

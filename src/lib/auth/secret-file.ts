import { constants, type Stats } from 'node:fs'
import { lstat, open, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isTokenText } from './validate-bearer-token.ts'
import { readProblem, ServiceError } from '../util/errors.ts'
import { noWait, ownUid } from '../util/posix.ts'

const maxSecretBytes = 4096

type Refuse = (what: string, hint?: string) => ServiceError

interface SecretFileOptions {
  /**
   * Also accepts a pipe, and a file of root that others may read: container platforms mount secrets
   * with modes such as 0440, 0444 and 0644.
   */
  readonly mounted?: boolean
}

/**
 * The secret in a file, without a trailing newline. Throws `config_invalid`, naming the flag, when
 * the file is unreadable, empty, owned by or open to another user, a symlink that others can
 * replace, or contains characters that a header cannot carry.
 */
export async function readSecretFile(
  path: string,
  flag: string,
  options: SecretFileOptions = {},
): Promise<string> {
  const refuse: Refuse = (what, hint) =>
    new ServiceError('config_invalid', `${flag} ${path} ${what}`, { hint })
  const text = await readPrivateFile(path, refuse, options).catch(error => {
    if (error instanceof ServiceError) throw error
    throw refuse(`cannot be read: ${readProblem(error)}`)
  })
  const secret = text.replace(/\r?\n$/, '')
  if (secret === '') throw refuse('is empty', 'write the secret into it, or omit the flag')
  return checkSecretText(secret, `${flag} ${path}`)
}

/** Returns the secret; throws `config_invalid`, naming only the source. */
export function checkSecretText(
  secret: string,
  source: string,
  hint = 'use printable ASCII without spaces, 32 or more random characters',
): string {
  if (isTokenText(secret)) return secret
  throw new ServiceError(
    'config_invalid',
    `${source} contains spaces, newlines or characters that a header cannot carry`,
    { hint },
  )
}

async function readPrivateFile(
  path: string,
  refuse: Refuse,
  { mounted = false }: SecretFileOptions,
): Promise<string> {
  const isPipe = mounted && (await stat(path)).isFIFO()
  // A pipe such as /dev/fd/63 is a link without a target path.
  if (!isPipe) await checkLink(path, refuse)
  const file = await open(path, isPipe ? constants.O_RDONLY : constants.O_RDONLY | noWait)
  try {
    const found = await file.stat()
    const problem = describeUnsafeFile(found, ownUid(), mounted)
    if (problem !== null) {
      // Suggest chmod only for a file: on a folder it could lock out the system.
      const mode = found.isFile() ? `; if it is, run chmod 600 ${path}` : ''
      throw refuse(problem, `the file must belong to you${mode}`)
    }
    const bytes = Buffer.alloc(maxSecretBytes + 1)
    let length = 0
    for (;;) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length, null)
      if (bytesRead === 0) return bytes.toString('utf8', 0, length)
      length += bytesRead
      if (length > maxSecretBytes) throw refuse(`is larger than ${maxSecretBytes} bytes`)
    }
  } finally {
    await file.close()
  }
}

/**
 * Why a file is unsafe for a secret, or null. Without a uid (Windows) checks only the file type.
 */
function describeUnsafeFile(found: Stats, uid: number | null, mounted: boolean): string | null {
  if (!found.isFile() && !(mounted && found.isFIFO())) return 'is not a regular file'
  if (uid === null) return null
  if (found.uid !== uid && found.uid !== 0) return `belongs to another user (uid ${found.uid})`
  const mayOthersRead = mounted && (found.uid === 0 || found.isFIFO())
  if ((found.mode & (mayOthersRead ? 0o022 : 0o077)) !== 0) {
    return 'can be read or changed by other users'
  }
  return null
}

/** Refuses a symlink whose target folder is writable for others, who could replace the file. */
async function checkLink(path: string, refuse: Refuse): Promise<void> {
  const uid = ownUid()
  const link = await lstat(path)
  if (uid === null || !link.isSymbolicLink()) return
  const target = await realpath(path)
  const folder = await stat(dirname(target))
  const foreign = [link.uid, folder.uid].some(owner => owner !== uid && owner !== 0)
  if (!foreign && (folder.mode & 0o022) === 0) return
  throw refuse(
    `is a symbolic link to ${target}, which others can replace`,
    'name the file itself, in a folder that only you can write',
  )
}

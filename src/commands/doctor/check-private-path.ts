import { constants, type Stats } from 'node:fs'
import { access, lstat, stat } from 'node:fs/promises'
import { errnoOf } from '../../lib/util/errors.ts'
import { isOwn, ownUid } from '../../lib/util/posix.ts'
import type { Finding } from './finding.ts'

/** The facts that decide whether a file system entry is private. */
export interface PathFacts {
  readonly kind: 'folder' | 'file' | 'link' | 'other' | 'absent'
  readonly uid: number
  readonly mode: number
}

interface PrivatePath {
  readonly check: string
  /** The name in messages, such as "the state directory". */
  readonly what: string
  readonly path: string
  readonly kind: 'folder' | 'file'
  /** The summary when it does not exist. */
  readonly absent: string
  /** How to choose another one. */
  readonly elsewhere: string
}

/** Checks that the path belongs to the user and is closed to others. Changes nothing. */
export async function checkPrivatePath(wanted: PrivatePath): Promise<Finding> {
  const { check, what, path, elsewhere } = wanted
  try {
    const finding = judgePath(wanted, await readFacts(path, wanted.kind), ownUid())
    if (finding.status !== 'ok') return finding
    const missing = await access(path, constants.W_OK).then(() => null, errnoOf)
    if (missing === null || missing === 'ENOENT') return finding
    const summary = `${what} ${path} is not writable (${missing})`
    return { check, status: 'fail', summary, hint: `make it writable, or ${elsewhere}` }
  } catch (error) {
    const summary = `${what} ${path} is not accessible (${errnoOf(error) ?? 'unknown error'})`
    return { check, status: 'fail', summary, hint: elsewhere }
  }
}

export function judgePath(wanted: PrivatePath, found: PathFacts, uid: number | null): Finding {
  const { check, what, path, elsewhere } = wanted
  const fail = (problem: string, hint: string): Finding => ({
    check,
    status: 'fail',
    summary: `${what} ${path} ${problem}`,
    hint,
  })
  if (found.kind === 'absent') return { check, status: 'ok', summary: `${what}: ${wanted.absent}` }
  if (found.kind === 'link') return fail('is a symbolic link', `remove it, or ${elsewhere}`)
  if (found.kind !== wanted.kind)
    return fail(`is not a ${wanted.kind}`, `remove it, or ${elsewhere}`)
  if (uid === null) {
    return {
      check,
      status: 'warn',
      summary: `${what} ${path}: owner and mode are not checked on this system`,
      hint: 'make sure that only you can read it',
    }
  }
  if (found.uid !== uid) return fail(`belongs to another user (uid ${found.uid})`, elsewhere)
  if ((found.mode & 0o077) !== 0) {
    const mode = (found.mode & 0o777).toString(8).padStart(4, '0')
    const wide = `is open to other users (mode ${mode})`
    return fail(wide, `chmod ${wanted.kind === 'folder' ? '700' : '600'} ${path}`)
  }
  return { check, status: 'ok', summary: `${what} ${path} is private` }
}

async function readFacts(path: string, kind: PrivatePath['kind']): Promise<PathFacts> {
  try {
    const entry = await lstat(path)
    // A file may be a link of this user or root, a folder never.
    const isFollowed = kind === 'file' && (isOwn(entry) || entry.uid === 0)
    const found = isFollowed ? await stat(path) : entry
    return { kind: kindOf(found), uid: found.uid, mode: found.mode }
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
    return { kind: 'absent', uid: 0, mode: 0 }
  }
}

function kindOf(found: Stats): PathFacts['kind'] {
  if (found.isSymbolicLink()) return 'link'
  if (found.isDirectory()) return 'folder'
  return found.isFile() ? 'file' : 'other'
}

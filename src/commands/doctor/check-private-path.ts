import { constants, type Stats } from 'node:fs'
import { access, lstat } from 'node:fs/promises'
import { errnoOf } from '../../lib/util/errors.ts'
import { ownUid } from '../../lib/util/posix.ts'
import type { Finding } from './finding.ts'

/** What of a file system entry decides whether it is private. */
export interface PathFacts {
  readonly kind: 'folder' | 'file' | 'link' | 'other' | 'absent'
  readonly uid: number
  readonly mode: number
}

interface PrivatePath {
  readonly check: string
  /** What it is called, as in "the registry folder". */
  readonly what: string
  readonly path: string
  readonly kind: 'folder' | 'file'
  /** What is said when it is not there. */
  readonly absent: string
  /** How another one is chosen. */
  readonly elsewhere: string
}

/** Is it ours, and closed to others? Changes nothing. */
export async function checkPrivatePath(wanted: PrivatePath): Promise<Finding> {
  const { check, what, path, elsewhere } = wanted
  try {
    const finding = judgePath(wanted, await readFacts(path), ownUid())
    if (finding.status !== 'ok') return finding
    const missing = await access(path, constants.W_OK).then(() => null, errnoOf)
    if (missing === null || missing === 'ENOENT') return finding
    const summary = `${what} ${path} cannot be written (${missing})`
    return { check, status: 'fail', summary, hint: `make it writable, or ${elsewhere}` }
  } catch (error) {
    const summary = `${what} ${path} cannot be accessed (${errnoOf(error) ?? 'unknown error'})`
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
  if (found.kind !== wanted.kind) return fail(`is no ${wanted.kind}`, `remove it, or ${elsewhere}`)
  if (uid === null) {
    return {
      check,
      status: 'warn',
      summary: `${what} ${path}: owner and mode are not checked on this system`,
      hint: 'see to it that only you can read it',
    }
  }
  if (found.uid !== uid) return fail(`belongs to another user (uid ${found.uid})`, elsewhere)
  if ((found.mode & 0o077) !== 0) {
    const mode = (found.mode & 0o777).toString(8).padStart(4, '0')
    const wide = `is open to other users (mode ${mode})`
    return fail(wide, `chmod ${wanted.kind === 'folder' ? '700' : '600'} ${path}`)
  }
  return { check, status: 'ok', summary: `${what} ${path}: yours alone` }
}

async function readFacts(path: string): Promise<PathFacts> {
  try {
    const found = await lstat(path)
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

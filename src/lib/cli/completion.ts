import type { Stats } from 'node:fs'
import { lstat, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, isAbsolute, join } from 'node:path'
import { usage } from '../util/errors.ts'
import { isOwn, isOwnFolder } from '../util/posix.ts'

const shells = ['bash', 'zsh', 'powershell'] as const

/** The named shell, or the login shell of the user. */
export function completionShell(named: string | undefined, env: NodeJS.ProcessEnv): string {
  const own = basename(env.SHELL ?? '').replace(/\.exe$/, '')
  const fallback = process.platform === 'win32' ? 'powershell' : 'bash'
  return named ?? shells.find(shell => shell === own) ?? fallback
}

/**
 * Throws `usage_invalid` where another user could put a script in the place of those that each new
 * shell runs, or where there is no home: oclif would take the shared temporary folder.
 */
export async function assertOwnCache(env: NodeJS.ProcessEnv): Promise<void> {
  const chosen = env.XDG_CACHE_HOME || homedir()
  if (!isAbsolute(chosen)) {
    throw usage('there is no home folder for the script', 'set HOME to an absolute path')
  }
  const base = env.XDG_CACHE_HOME || join(chosen, '.cache')
  const program = join(base, 'service-cli')
  const scripts = join(program, 'autocomplete')
  const [below, own, inner] = await Promise.all(
    [stat(base), lstat(program), lstat(scripts)].map(found => found.catch(() => null)),
  )
  if (below && !keepsNames(below)) throw canChange(base)
  if (own && !isOwnFolder(own)) throw canChange(program)
  // Into a closed folder no other user comes: with umask 002, oclif makes one for the group in it.
  if (own && inner && (own.mode & 0o077) !== 0 && !isOwnFolder(inner)) throw canChange(scripts)
}

function canChange(path: string): Error {
  const hint = 'have it removed or closed to others, or choose another XDG_CACHE_HOME'
  return usage(`no script is written below ${path}: others can change it`, hint)
}

/** No other user can replace what this user has there; in a sticky folder, such as /tmp, neither. */
function keepsNames(found: Stats): boolean {
  const isClosed = isOwnFolder(found) || (found.mode & 0o022) === 0 || (found.mode & 0o1000) !== 0
  return isClosed && (isOwn(found) || found.uid === 0)
}

/** How to enable completion after its scripts were written. */
export function completionSteps(shell: string): string {
  const script = `service-cli autocomplete script ${shell}`
  const [command, key] =
    shell === 'powershell'
      ? [`Add-Content -Path $PROFILE -Value (Invoke-Expression -Command "${script}")`, 'TAB']
      : [`printf "$(${script})" >> ~/.${shell}rc`, shell === 'bash' ? 'TAB twice' : 'TAB']
  return [
    `To complete commands and flags of service-cli in ${shell}, run once:`,
    '',
    `  ${command}`,
    '',
    `Then open a new terminal and press ${key} after service-cli.`,
    '',
  ].join('\n')
}

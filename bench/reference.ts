import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const project = fileURLToPath(new URL('..', import.meta.url))
const hashFile = fileURLToPath(new URL('reference', import.meta.url))

/**
 * The program of the commit that `bench/reference` names, built in a git worktree of its own, which
 * is kept for the next run. Throws when git, npm or the build fails.
 */
export function prepareReference(): string {
  const hash = readFileSync(hashFile, 'utf8').trim()
  const folder = join(tmpdir(), `service-cli-reference-${hash}`)
  const run = (cwd: string, program: string, ...args: string[]) =>
    void execFileSync(program, args, { cwd, stdio: ['ignore', 2, 2] })
  if (!existsSync(join(folder, 'package.json'))) {
    run(project, 'git', 'worktree', 'prune')
    run(project, 'git', 'worktree', 'add', '--detach', folder, hash)
  }
  if (!existsSync(join(folder, 'dist', '.built'))) {
    run(folder, 'npm', 'ci', '--no-audit', '--no-fund')
    run(folder, process.execPath, join('scripts', 'build.js'))
  }
  return join(folder, 'bin', 'run.js')
}

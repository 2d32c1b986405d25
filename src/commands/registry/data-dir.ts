import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { usage } from '../../lib/usage.ts'

/** `--data-dir`, else the folder of this program among the user's data (XDG). */
export function selectDataDir(flag: string | undefined, env: NodeJS.ProcessEnv): string {
  if (flag === '') throw usage('--data-dir is empty', 'a variable in your shell may be unset')
  if (flag !== undefined) return resolve(flag)
  const xdg = env.XDG_DATA_HOME
  // XDG Base Directory: a path that is not absolute is to be ignored.
  const data = xdg !== undefined && isAbsolute(xdg) ? xdg : join(homedir(), '.local', 'share')
  return join(data, 'service-cli', 'registry')
}

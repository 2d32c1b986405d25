import { join, resolve } from 'node:path'
import { xdgFolder } from '../../lib/config/paths.ts'
import { usage } from '../../lib/util/errors.ts'

/** `--data-dir`, else the folder of this program among the user's data (XDG). */
export function selectDataDir(flag: string | undefined, env: NodeJS.ProcessEnv): string {
  if (flag === '') throw usage('--data-dir is empty', 'a variable in your shell may be unset')
  if (flag !== undefined) return resolve(flag)
  const data = xdgFolder(env, 'XDG_DATA_HOME', join('.local', 'share'))
  return join(data, 'service-cli', 'registry')
}

import { homedir, tmpdir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { unusableFile } from '../util/errors.ts'
import { ownUid } from '../util/posix.ts'

type Env = Record<string, string | undefined>

/** `~/.config/service-cli/config.toml` on every system. */
export function configPath(env: Env): string {
  return join(xdgFolder(env, 'XDG_CONFIG_HOME', '.config'), 'service-cli', 'config.toml')
}

/** The folder of an XDG variable, which is ignored when it is relative (XDG specification). */
export function xdgFolder(env: Env, variable: string, usual: string): string {
  const chosen = env[variable]
  return chosen !== undefined && isAbsolute(chosen) ? chosen : join(homeFolder(), usual)
}

/** Throws `config_invalid` for an empty or relative `HOME`, and for a user without a home folder. */
export function homeFolder(): string {
  let home = ''
  try {
    home = homedir()
  } catch {
    // The system does not know this user.
  }
  if (isAbsolute(home)) return home
  const hint = 'set HOME to the absolute path of your home folder'
  throw unusableFile(`HOME "${home}"`, 'is not an absolute path', hint)
}

/** The file of the client keys, which all servers of this user share. */
export function keysPath(env: Env): string {
  return join(dirname(configPath(env)), 'client-keys.json')
}

/** The folder of notes and checkpoints, which all servers of this user share. */
export function documentsPath(env: Env): string {
  return join(xdgFolder(env, 'XDG_DATA_HOME', '.local/share'), 'service-cli/documents')
}

/**
 * Option, else `SERVICE_REGISTRY_DIR`, else a folder of this user: below the temporary one, on
 * Windows in the profile. A packaged program, such as Claude Desktop, has a temporary folder there
 * that no other program sees. The Python client finds the same folder.
 */
export function selectStateDirectory(
  option: string | undefined,
  env: Env,
  platform: NodeJS.Platform = process.platform,
): string {
  const chosen = option || env.SERVICE_REGISTRY_DIR
  if (chosen) return resolve(chosen)
  if (platform === 'win32') return join(homeFolder(), '.service-cli')
  return join(tmpdir(), `service-cli-${ownUid()}`)
}

import { homedir, tmpdir, userInfo } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { ServiceError } from '../util/errors.ts'
import { ownUid } from '../util/posix.ts'

type Env = Readonly<Record<string, string | undefined>>

/** `~/.config/service-cli/config.toml` on every system; a relative `XDG_CONFIG_HOME` is ignored, as the XDG specification has it. */
export function configPath(env: Env, home?: string): string {
  return join(xdgFolder(env, 'XDG_CONFIG_HOME', '.config', home), 'service-cli', 'config.toml')
}

/** The folder of an XDG variable, else the usual one in the home folder. */
export function xdgFolder(env: Env, variable: string, usual: string, home?: string): string {
  const chosen = env[variable]
  return chosen !== undefined && isAbsolute(chosen) ? chosen : join(home ?? homeFolder(), usual)
}

/**
 * The home folder of the user. Throws `config_invalid` for an empty or relative `HOME`, which would
 * put files below the working directory, and for a user without a home folder.
 */
export function homeFolder(find: () => string = homedir): string {
  let home: string
  try {
    home = find()
  } catch {
    throw noHome('this user has no home folder and HOME is not set')
  }
  if (isAbsolute(home)) return home
  throw noHome(home === '' ? 'HOME is empty or not set' : `HOME is a relative path: ${home}`)
}

function noHome(what: string): ServiceError {
  return new ServiceError('config_invalid', what, {
    hint: 'set HOME to the absolute path of your home folder',
  })
}

/** The file of the client keys, which all servers of this user share. */
export function keysPath(...where: Parameters<typeof configPath>): string {
  return join(dirname(configPath(...where)), 'client-keys.json')
}

/** The folder of notes and checkpoints, which all servers of this user share. */
export function documentsPath(env: Env): string {
  return join(xdgFolder(env, 'XDG_DATA_HOME', '.local/share'), 'service-cli/documents')
}

/** Option, else `SERVICE_REGISTRY_DIR`, else a folder of this user below the temporary one. */
export function selectStateDirectory(option: string | undefined, env: NodeJS.ProcessEnv): string {
  const chosen = option || env.SERVICE_REGISTRY_DIR
  return chosen ? resolve(chosen) : join(tmpdir(), `service-cli-${ownName()}`)
}

/** The uid; on systems without one the user name, with other characters replaced. */
function ownName(): string {
  const uid = ownUid()
  return uid === null ? userInfo().username.replaceAll(/[^\w.-]/g, '_') : String(uid)
}

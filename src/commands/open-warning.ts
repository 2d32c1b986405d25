import { keyVariable } from '../lib/auth/api-key-config.ts'
import { type Access, findOpening } from './auth-settings.ts'

/** The warning of a server without authentication. */
export interface OpenWarning {
  readonly message: string
  /** `info` for the default, a server for this machine only. */
  readonly level: 'info' | 'warn'
}

/** Null for a server with authentication. Operators learn from the log that theirs has none. */
export function openWarning(access: Access, env: NodeJS.ProcessEnv): OpenWarning | null {
  if (access.auth !== undefined && access.auth.mode !== 'none') return null
  const isOpened = findOpening(access) !== null
  const who = isOpened ? 'everyone who can reach this server' : 'every account of this machine'
  // The operator probably meant to set a key.
  const isEmpty = env[keyVariable] === ''
  const why = isEmpty ? ` (${keyVariable} is set but empty)` : ''
  return {
    message: `no key is required${why}: ${who} can read what it serves`,
    level: isOpened || isEmpty ? 'warn' : 'info',
  }
}

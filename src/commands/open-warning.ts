import { keyVariable } from '../lib/auth/api-key-config.ts'
import { type Access, findOpening } from './auth-settings.ts'

/** What to say at the start of a server that asks nobody for anything. */
export interface OpenWarning {
  readonly message: string
  /** `info`: as servers of one machine are by default. */
  readonly level: 'info' | 'warn'
}

/** Null for a server with authentication. Operators learn from the log that theirs has none. */
export function openWarning(access: Access, env: NodeJS.ProcessEnv): OpenWarning | null {
  if (access.auth !== undefined && access.auth.mode !== 'none') return null
  const isOpened = findOpening(access) !== null
  const who = isOpened ? 'everyone who can reach this server' : 'every account of this machine'
  // A key was meant.
  const isEmpty = env[keyVariable] === ''
  const why = isEmpty ? ` (${keyVariable} is set, and empty)` : ''
  return {
    message: `no key is asked for${why}: ${who} can read what it serves`,
    level: isOpened || isEmpty ? 'warn' : 'info',
  }
}

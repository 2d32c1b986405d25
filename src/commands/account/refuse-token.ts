import { usage } from '../../lib/util/errors.ts'
import type { AccountFlags } from './context.ts'

const toSave = 'to save a token, pipe it into service-cli login --token-stdin'
const hints = {
  login: toSave,
  register: toSave,
  logout: 'logout ends the saved login; end a service token with token revoke',
  'password --reset-code': 'the code says that you may; leave --token out',
}

/** Throws `usage_invalid` for a command that uses neither a given token nor another login. */
export function refuseToken({ token, account }: AccountFlags, command: keyof typeof hints): void {
  if (token !== undefined && token !== '') {
    throw usage(`${command} takes no --token`, hints[command])
  }
  if (account === undefined || command === 'logout') return
  throw usage(`${command} takes no --account`, 'write the user name as the argument of the command')
}

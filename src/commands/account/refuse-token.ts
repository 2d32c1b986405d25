import { ServiceError } from '../../lib/errors.ts'
import type { AccountFlags } from './context.ts'

const toSave = 'to save a token, pipe it into service-cli login --token-stdin'
const hints = {
  login: toSave,
  register: toSave,
  logout: 'logout ends the saved login; end a service token with token revoke',
  'password --reset-code': 'the code says that you may; leave --token out',
}

/** A token is there already: what would a new login be for? */
export function refuseToken({ token }: AccountFlags, command: keyof typeof hints): void {
  if (token === undefined || token === '') return
  throw new ServiceError('usage_invalid', `${command} takes no --token`, {
    hint: hints[command],
  })
}

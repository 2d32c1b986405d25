import * as Flags from '@oclif/core/flags'
import { globalFlags } from './global-flags.ts'

/** Flags of every command of a person with an account; they may also stand before it. */
export const accountFlags = {
  registry: Flags.string({
    description:
      'address of the registry; before SERVICE_REGISTRY and default_registry of the configuration file',
    helpGroup: 'GLOBAL',
    helpValue: 'URL',
  }),
  account: Flags.string({
    description: 'use the saved login of this user name or email address [default: the newest]',
    helpGroup: 'GLOBAL',
    helpValue: 'NAME',
  }),
  token: Flags.string({
    description:
      'use this token; before SERVICE_TOKEN, SERVICE_TOKEN_FILE and the saved login. ' +
      'It stays in the shell history: SERVICE_TOKEN does not',
    helpGroup: 'GLOBAL',
    helpValue: 'TOKEN',
  }),
  'no-input': Flags.boolean({
    description: 'never prompt; fail when input is missing',
    helpGroup: 'GLOBAL',
  }),
}

/** Every flag that may stand before a command. */
export const leadingFlags = { ...globalFlags, ...accountFlags }

/**
 * The two ways of a password that are no question. Not `exclusive`: the parser would repeat the
 * password in its message.
 */
export const passwordFlags = {
  'password-stdin': Flags.boolean({
    description: 'read the password from stdin; a trailing newline is stripped',
  }),
  password: Flags.string({
    description: 'the password; it stays in the shell history: --password-stdin does not',
    helpValue: 'PASSWORD',
  }),
}
